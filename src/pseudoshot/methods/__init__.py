"""Methods: one file each, settings beside the class. A new one is added to METHODS, no more."""

from pseudoshot.methods.aal import AAL
from pseudoshot.methods.base import Batch, Loss, Method
from pseudoshot.methods.baseline import Baseline
from pseudoshot.methods.cactus import CACTUs
from pseudoshot.methods.cpn import CPN
from pseudoshot.methods.cumca import CUMCA
from pseudoshot.methods.feat import FEAT
from pseudoshot.methods.film import DeepSetsFiLM
from pseudoshot.methods.hard_task import HardTask
from pseudoshot.methods.hms import HMS
from pseudoshot.methods.hms_tsp_head import HMSTSPHead
from pseudoshot.methods.meta_gmvae import MetaGMVAE
from pseudoshot.methods.metamix import MetaMix
from pseudoshot.methods.metaoptnet import MetaOptNet
from pseudoshot.methods.mochi import MoCHi
from pseudoshot.methods.moco import MoCo
from pseudoshot.methods.projection_head import ProjectionHead
from pseudoshot.methods.protoclr import ProtoCLR
from pseudoshot.methods.protonet import ProtoNet
from pseudoshot.methods.settings import MethodSettings, TaskSettings
from pseudoshot.methods.simclr import SimCLR
from pseudoshot.methods.supervised import Supervised
from pseudoshot.methods.tsp_head import TSPHead
from pseudoshot.methods.uflst import UFLST
from pseudoshot.methods.ulda import ULDA
from pseudoshot.methods.umtra import UMTRA
from pseudoshot.methods.vanilla import Vanilla
from pseudoshot.tools.registry import Registry

METHODS: Registry[Method] = Registry(
    "method",
    {
        "vanilla": Vanilla,
        "baseline": Baseline,
        "hms": HMS,
        "tsp-head": TSPHead,
        "hms-tsp-head": HMSTSPHead,
        "projection-head": ProjectionHead,
        "film": DeepSetsFiLM,
        "hard-task": HardTask,
        "metamix": MetaMix,
        "feat": FEAT,
        "metaoptnet": MetaOptNet,
        "simclr": SimCLR,
        "moco-v2": MoCo,
        "mochi": MoCHi,
        "protoclr": ProtoCLR,
        "umtra": UMTRA,
        "aal": AAL,
        "ulda": ULDA,
        "cactus": CACTUs,
        "cumca": CUMCA,
        "uflst": UFLST,
        "meta-gmvae": MetaGMVAE,
        "cpn": CPN,
        "protonet": ProtoNet,
        "supervised": Supervised,
    },
)

__all__ = ["METHODS", "Batch", "Loss", "Method", "MethodSettings", "TaskSettings"]
