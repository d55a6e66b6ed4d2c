"""Starts the real runtime client with Lambda's search path and nothing else.

    python -I -S lambda_bootstrap.py TASK OPT RUNTIME HANDLER

No site-packages: a module that a trimmed layer lacks must be missing here too. RUNTIME holds what
every Lambda Python has, the runtime client and boto3, and comes last, as there.
"""

import runpy
import sys
from pathlib import Path

task, opt, runtime, handler = sys.argv[1:]
layers = Path(opt) / "python"
sys.path[:] = [
    task,
    str(layers),
    *(path for path in sys.path if path != str(Path(__file__).parent)),
    runtime,
]
sys.argv[:] = ["bootstrap", handler]
runpy.run_module("awslambdaric", run_name="__main__", alter_sys=True)
