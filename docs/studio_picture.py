"""Draw docs/images/studio.png: the studio while a PUMA 560 moves. Needs Chromium and playwright."""

import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from dynamis.studio import Studio

HERE = Path(__file__).parent
PICTURE = HERE / "images" / "studio.png"
sys.path.insert(0, str(HERE.parent))
from shrink import shrink  # noqa: E402

from tests.conftest import FLAGS  # noqa: E402
from tests.studio.conftest import Tab  # noqa: E402

START = (0.9, 0.35, -0.2, 0.4, 0.8, 0.0)
MOMENT = 1.1  # s


def main() -> None:
    """Run a move and stop it on the way."""
    studio = Studio("puma560", port=0)
    with sync_playwright() as p:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = p.chromium.launch(executable_path=path, args=FLAGS)
        tab = Tab(browser, studio, {"width": 1280, "height": 800})
        tab.session.change_pose(START)
        tab.open("Simulate")
        tab.choose("What", "Move to a target")
        tab.choose("Law", "PID and gravity")
        tab.choose("Target", "ready")
        tab.press("Run")
        tab.until(lambda: tab.session.bench.run is not None)
        time.sleep(6)
        tab.type("Time (s)", str(MOMENT))
        tab.page.evaluate(
            "document.querySelectorAll('.mantine-Notification-root').forEach((e) => e.remove())"
        )
        time.sleep(3)
        tab.page.screenshot(path=PICTURE)
        browser.close()
    studio.stop()
    shrink(PICTURE, PICTURE)


if __name__ == "__main__":
    main()
