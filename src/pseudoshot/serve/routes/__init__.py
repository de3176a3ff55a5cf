"""The addresses of the server, one module per thing they are about."""

from pseudoshot.serve.routes import images, page, programs, project, sorting

ROUTERS = (page.router, images.router, project.router, sorting.router, programs.router)
