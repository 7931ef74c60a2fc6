"""The C of co-simulation units, called as a simulator calls it and as none should: no crash."""

import re
import shutil
import subprocess
import zipfile

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import Law
from dynamis.realtime.fmu.export import export_fmu
from tests.simulation.test_elastic import two_links
from tests.thorough import thorough_but

STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
SANE = ["-fsanitize=address,undefined", "-fsanitize=float-cast-overflow", "-g"]
SANE += ["-fno-sanitize-recover=all"]

CALLS = {
    "3.0": """
#define NO false, false, false, false
#define MAKE(token) fmi3InstantiateCoSimulation("one", token, NULL, NO, NULL, 0, NULL, hear, NULL)
#define START(t) fmi3EnterInitializationMode(u, false, 0.0, t, false, 0.0)
#define BEGIN (START(0.0) || fmi3ExitInitializationMode(u))
#define SET(vr, x) fmi3SetFloat64(u, vr, 1, x, 1)
#define GET(vr, x) fmi3GetFloat64(u, vr, 1, x, 1)
#define WHOLE(vr, x) fmi3GetInt32(u, vr, 1, x, 1)
#define STEP(t, dt) fmi3DoStep(u, t, dt, true, &event, &stop, &early, &last)
#define P(name) fmi3##name
#define STATE(name) fmi3##name##FMUState
#define UNSERIAL fmi3DeserializeFMUState
#define SIZED fmi3SerializedFMUStateSize
typedef unsigned char byte;
static void hear(void *e, int s, const char *c, const char *text)
{
    (void)e; (void)s; (void)c;
    puts(text);
}
""",
    "2.0": """
static void hear(void *e, const char *name, int s, const char *c, const char *text, ...)
{
    va_list words;
    (void)e; (void)s; (void)c;
    printf("%s: ", name);
    va_start(words, text);
    vprintf(text, words);
    va_end(words);
    puts("");
}
static const callbacks calls = {hear, NULL, NULL, NULL, NULL};
#define MAKE(token) fmi2Instantiate("one", 1, token, NULL, &calls, 0, 0)
#define START(t) fmi2SetupExperiment(u, 0, 0.0, t, 0, 0.0)
#define BEGIN (START(0.0) || fmi2EnterInitializationMode(u) || fmi2ExitInitializationMode(u))
#define SET(vr, x) fmi2SetReal(u, vr, 1, x)
#define GET(vr, x) fmi2GetReal(u, vr, 1, x)
#define WHOLE(vr, x) fmi2GetInteger(u, vr, 1, x)
#define STEP(t, dt) fmi2DoStep(u, t, dt, 1)
#define P(name) fmi2##name
#define STATE(name) fmi2##name##FMUstate
#define UNSERIAL fmi2DeSerializeFMUstate
#define SIZED fmi2SerializedFMUstateSize
typedef char byte;
""",
}
DRIVER = r"""
#include "unit.c"
#include <stdarg.h>
#include <stdio.h>
@CALLS@
#define NEED(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); return 1; } } while (0)

int main(void)
{
    static const double odd[] = {1e300, -1e9, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 5e-324, 0.1};
    static const uint32_t wrong[] = {VALUES, VALUES + 1, 1u << 31, 0xFFFFFFFFu};
    const uint32_t outside = VALUES - 1;
    bool event = false, stop = false, early = false;
    double last = 0.0, x, t = 0.0, later;
    void *state = NULL, *again = NULL;
    byte *bytes;
    size_t size = 0, i, k;
    int32_t n;
    uint32_t vr;
    unit *u = MAKE("not the token");
    (void)event; (void)stop; (void)early; (void)last;
    NEED(u == NULL && MAKE(NULL) == NULL);
    u = NULL;
@ABSENT@
    u = MAKE(TOKEN);
    NEED(u != NULL);
    NEED(START(odd[4]) == ERROR && START(odd[2]) == ERROR);
    NEED(BEGIN == OK);
    for (k = 0; k < 300; k++) {
        for (vr = FIXED + 1; vr <= SETTABLE; vr++) {
            x = 0.3 * sin(0.05 * (double)k + (double)vr);
            NEED(SET(&vr, &x) == OK);
        }
        NEED(STEP(t, 0.005) == OK);
        t += 0.005;
        for (vr = 0; vr < VALUES; vr++) {
            if (INTEGER != 0 && vr == INTEGER) NEED(WHOLE(&vr, &n) == OK && n == 0);
            else NEED(GET(&vr, &x) == OK && isfinite(x) && WHOLE(&vr, &n) == ERROR);
        }
    }
    vr = 0;
    NEED(GET(&vr, &x) == OK && fabs(x - t) < 1e-9);

    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) { /* no such variable */
        NEED(GET(&wrong[i], &x) == ERROR && SET(&wrong[i], &x) == ERROR);
        NEED(WHOLE(&wrong[i], &n) == ERROR);
    }
    NEED(SET(&outside, &x) == ERROR); /* an output */
    NEED(SET(&vr, &x) == ERROR); /* time */
    for (vr = 1; vr <= FIXED; vr++) NEED(SET(&vr, &x) == ERROR); /* a parameter, by now */
    vr = 1;
    NEED(GET(NULL, &x) == ERROR && GET(&vr, NULL) == ERROR && SET(NULL, &x) == ERROR);
    NEED(SET(&vr, NULL) == ERROR && WHOLE(NULL, &n) == ERROR && WHOLE(&outside, NULL) == ERROR);

    NEED(STATE(Get)(u, &state) == OK && state != NULL && SIZED(u, state, &size) == OK && size > 0);
    bytes = calloc(size, 1);
    NEED(STATE(Serialize)(u, state, bytes, size) == OK);
    NEED(STATE(Serialize)(u, state, bytes, size - 1) == ERROR);
    NEED(STATE(Serialize)(u, NULL, bytes, size) == ERROR);
    NEED(STATE(Serialize)(u, state, NULL, size) == ERROR);
    NEED(UNSERIAL(u, bytes, size, &again) == OK && UNSERIAL(u, bytes, size - 1, &again) == ERROR);
    NEED(UNSERIAL(u, NULL, size, &again) == ERROR && UNSERIAL(u, bytes, size, NULL) == ERROR);
    NEED(STATE(Get)(u, &again) == OK && STATE(Set)(u, again) == OK);
    NEED(STATE(Get)(u, NULL) == ERROR && STATE(Set)(u, NULL) == ERROR);
    NEED(SIZED(u, state, NULL) == ERROR);

    later = t;
    for (i = 0; i < sizeof odd / sizeof odd[0]; i++) { /* numbers that no arm has */
        for (vr = FIXED + 1; vr <= SETTABLE; vr++) NEED(SET(&vr, &odd[i]) == OK);
        (void)STEP(later, 0.005);
        vr = 0;
        NEED(GET(&vr, &later) == OK && later >= t); /* an arm that refused stays where it was */
        for (vr = 0; vr < VALUES; vr++) {
            if (INTEGER == 0 || vr != INTEGER) NEED(GET(&vr, &x) == OK);
            else NEED(WHOLE(&vr, &n) == OK && n >= 0 && n <= 2);
        }
    }
    NEED(STEP(odd[4], 0.005) == ERROR && STEP(t, -0.005) == ERROR && STEP(t, odd[2]) == ERROR);
    NEED(STEP(t, odd[4]) == ERROR && STEP(t, 1e300) == ERROR);
    NEED(STATE(Set)(u, state) == OK);
    vr = 0;
    NEED(STEP(-5.0, 0.005) == ERROR && STEP(t - 0.005, 0.005) == ERROR); /* back in time */
    NEED(STEP(1e9, 0.005) == ERROR && STEP(1e300, 0.005) == ERROR); /* far ahead */
    NEED(STEP(t, 1e6) == ERROR); /* too much work */
    NEED(GET(&vr, &x) == OK && fabs(x - t) < 1e-9 && STEP(t, 0.0) == OK);
    NEED(STEP(t * (1.0 - 1e-15), 0.005) == OK); /* a rounding is none */
    NEED(STEP(t, 0.005) == ERROR); /* that was done */

    NEED(P(Reset)(u) == OK);
    for (vr = 1; vr <= FIXED; vr++) NEED(SET(&vr, &odd[0]) == OK); /* q0, qd0, h without sense */
    NEED(BEGIN == OK);
    (void)STEP(0.0, 0.005);
@PRESENT@
    NEED(STATE(Free)(u, &state) == OK && state == NULL && STATE(Free)(u, &again) == OK);
    NEED(STATE(Free)(u, &again) == OK);
    free(bytes);
    P(FreeInstance)(u);
    P(FreeInstance)(NULL);
    puts("passed");
    return 0;
}
"""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")


def sanitizers(folder):
    """Skips where gcc came without them."""
    need("gcc")
    (folder / "a.c").write_text("int main(void) { return 0; }\n")
    command = ["gcc", *SANE, str(folder / "a.c"), "-o", str(folder / "a")]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("gcc here has no sanitizers")


def what(kind):
    """An arm, and controllers of it; cppcheck is through with a `small` arm or law in a second."""
    robot = dy.load("rppr")
    link = dy.Robot.from_dh("link", convention="standard", links=[dy.Link(mass=1.0, a=1.0)])
    law = dy.control.ComputedTorque(kp=100.0, kd=20.0, ki=5.0)
    move = dy.trajectory.quintic(np.zeros(robot.n), 0.3 * np.ones(robot.n), duration=1.0)
    pid = dy.control.JointPID(kp=9.0, ki=1.0)
    return {
        "arm": robot,
        "elastic arm": two_links(1e4, backlash=2e-3),
        "small arm": dy.load("planar-rr"),
        "small law": Law(pid, link, 0.005, limit=50.0),
        "law": Law(law, robot, 0.005, limit=50.0, safe="gravity"),
        "trajectory": Law(law, robot, 0.005, move, velocity="difference"),
    }[kind]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The C inside a unit, by kind and version, as a file."""
    made = {}

    def of(kind, fmi):
        if (kind, fmi) not in made:
            folder = tmp_path_factory.mktemp("unit")
            found = what(kind)
            law = found if isinstance(found, Law) else None
            unit = export_fmu(getattr(found, "robot", found), folder / "x.fmu", fmi, law=law)
            with zipfile.ZipFile(unit) as archive:
                (name,) = (n for n in archive.namelist() if n.endswith(".c"))
                (folder / "unit.c").write_bytes(archive.read(name))
            made[kind, fmi] = folder / "unit.c"
        return made[kind, fmi]

    return of


def with_nothing(path, fails):
    """Every function of a source called with zeros; those without a unit must fail."""
    command = ["gcc", "-std=c99", "-E", "-P", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\bint (fmi\d\w+)\(([^;{}]*)\);", text)
    assert len(found) > 25
    test = "NEED({} == ERROR);" if fails else "(void){};"
    calls = [f"{name}(u{', 0' * arguments.count(', ')})" for name, arguments in found]
    return "\n".join("    " + test.format(call) for call in calls)


@pytest.mark.parametrize(
    "kind, fmi",
    thorough_but(
        [("arm", "3.0")],
        [("arm", "3.0"), ("elastic arm", "2.0"), ("law", "2.0"), ("trajectory", "3.0")],
    ),
)
def test_sanitizers_say_nothing(tmp_path, source, kind, fmi):
    sanitizers(tmp_path)
    path = source(kind, fmi)
    driver = DRIVER.replace("@CALLS@", CALLS[fmi]).replace("@ABSENT@", with_nothing(path, True))
    (tmp_path / "drive.c").write_text(driver.replace("@PRESENT@", with_nothing(path, False)))
    program = tmp_path / "drive"
    command = ["gcc", "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", *SANE, f"-I{path.parent}"]
    subprocess.run([*command, str(tmp_path / "drive.c"), "-o", str(program), "-lm"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
    assert done.stderr == "" and "time runs back: set an earlier state first" in done.stdout
    far, long = "too many samples since the step before", "too many samples since the step before"
    if "arm" in kind:
        far, long = "time was left out since the step before", "too many steps of h"
    assert far in done.stdout and long in done.stdout


@pytest.mark.parametrize(("kind", "fmi"), [("small arm", "3.0"), ("small law", "2.0")])
def test_cppcheck_says_nothing(source, kind, fmi):
    need("cppcheck")
    done = subprocess.run(
        ["cppcheck", "--enable=warning,performance,portability", "--error-exitcode=1",
         "--std=c99", "--quiet", str(source(kind, fmi))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize(
    "cc, kind, fmi",
    [("gcc", "arm", "2.0"), ("gcc", "trajectory", "3.0"), ("clang", "arm", "3.0"),
     ("clang", "law", "2.0"), ("gcc", "elastic arm", "3.0")],
)  # fmt: skip
def test_compilers_say_nothing(tmp_path, source, cc, kind, fmi):
    need(cc)
    command = [cc, *STRICT, "-fPIC", "-shared", str(source(kind, fmi)), "-o", "x.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
