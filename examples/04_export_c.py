"""C99 for the arm's own computer: generated, compiled, tested."""

import shutil
import subprocess
import tempfile

import dynamis as dy

puma = dy.load("puma560")
print("inverse dynamics costs", puma.cost("inverse_dynamics"))
print("forward dynamics costs", puma.cost("forward_dynamics"))

with tempfile.TemporaryDirectory() as folder:
    files = puma.export(["inverse_dynamics", "forward_dynamics", "fk"], directory=folder)
    print("wrote", ", ".join(f.name for f in files))
    print(files[0].read_text().split("*/")[0])
    if shutil.which("make") and shutil.which("cc"):
        subprocess.run(["make", "-s"], cwd=folder, check=True)
    else:
        print("no C compiler here: copy the folder to one and run make")
