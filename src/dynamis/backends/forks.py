"""The lock under which LLVM, CasADi and parts of this package are loaded and used: a fork waits.

A child has only the thread that forked. A lock that another thread held, a module's among them,
stays locked in it forever.
"""

import os
from threading import RLock

LOCK = RLock()

if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
