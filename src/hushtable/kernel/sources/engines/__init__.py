"""Engines that hold rows in many places: our code runs where the rows are, and only integers come back."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.kernel.sources.engines.engine_counter import EngineCounter
    from hushtable.kernel.sources.engines.engine_frame import EngineFrame, Place, Task
    from hushtable.kernel.sources.engines.lake_frame import LakeFrame
    from hushtable.kernel.sources.engines.spark import SparkOpener
    from hushtable.kernel.sources.engines.spark_lake import SparkLakeOpener
else:
    __getattr__, __dir__ = lazily(__name__)
