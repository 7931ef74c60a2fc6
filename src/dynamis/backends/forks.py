"""The lock under which LLVM and CasADi are loaded and used; a fork waits for it.

A child has only the thread that forked: a lock that another thread held stays locked in it forever.
"""

import os
from threading import RLock

LOCK = RLock()

if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
