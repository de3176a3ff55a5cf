"""How torch's threads wait for each other; imported before torch, whose OpenMP reads this once.

By default they spin at every barrier. When another program wants a core, a spinning thread keeps
off the one it waits for: a training step on two cores beside another busy process took ten times
as long. Sleeping costs nothing that could be measured on an idle machine.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
