"""The process that Spark forks its Python workers from: it imports once what each of them needs."""

import pandas as pd  # noqa: F401
import pyarrow.pandas_compat  # noqa: F401
from pyspark.daemon import manager

from suffice import *  # noqa: F403

if __name__ == "__main__":
    manager()
