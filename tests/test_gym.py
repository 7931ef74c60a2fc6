"""The reaching environment is one Gymnasium accepts, repeats itself, and obeys its own physics."""

import subprocess
import sys

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from tests.simulation.test_elastic import two_links

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.usefixtures("compiled")


def make(**options):
    import dynamis.gym  # noqa: F401

    return gymnasium.make("dynamis/Reach-v0", **{"robot": "planar-rr", **options})


@pytest.mark.filterwarnings("ignore:.*Box observation space.*")
def test_gymnasium_accepts_it():
    from gymnasium.utils.env_checker import check_env

    check_env(make(render_mode="rgb_array").unwrapped)


def test_actions_are_torques_of_the_drives():
    bar = {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0), "inertia": (0.001, 0.02, 0.02)}
    links = [dy.Link(**bar, passive=True), dy.Link(**bar)]
    robot = dy.Robot.from_dh("acrobot", convention="standard", gravity=(0, -9.81, 0), links=links)
    env = make(robot=robot).unwrapped
    env.reset(seed=0)
    assert env.action_space.shape == (1,) and env.observation_space.shape == (2 * 2 + 2 + 6,)
    env.step(np.ones(1, dtype=np.float32))
    assert env._sim.tau[0] == 0.0 and env._sim.tau[1] != 0.0


def test_an_arm_without_drives_is_refused():
    bar = {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0), "inertia": (0.001, 0.02, 0.02)}
    links = [dy.Link(**bar, passive=True)] * 2
    robot = dy.Robot.from_dh("swing", convention="standard", links=links)
    with pytest.raises(OptionError, match="robot 'swing' has no drives: all joints are passive"):
        make(robot=robot)


def test_the_same_seed_is_the_same_episode():
    def episode(seed):
        env = make()
        seen, _ = env.reset(seed=seed)
        env.action_space.seed(seed)
        rows = [seen]
        for _ in range(20):
            rows.append(env.step(env.action_space.sample())[0])
        return np.array(rows)

    first = episode(3)
    np.testing.assert_array_equal(first, episode(3))
    assert np.abs(first - episode(4)).max() > 0.01


def test_a_step_is_the_simulation():
    env = make(effort=[3.0, 2.0], dt=0.02, substeps=10).unwrapped
    env.reset(seed=1, options={"q": [0.3, -0.2]})
    for _ in range(2):
        env.step([0.5, -2.0])  # what is beyond 1 counts as 1
    run = dy.simulate(env.robot, 0.04, 0.002, q0=[0.3, -0.2], torque=[1.5, -2.0])
    np.testing.assert_allclose(env.q, run.q[-1], rtol=1e-12)
    np.testing.assert_allclose(env.qd, run.qd[-1], rtol=1e-12)


def test_observation_and_reward_are_what_they_say():
    env = make(tolerance=0.1, control_cost=0.5, bonus=7.0).unwrapped
    target = env.robot.fk([0.4, 0.3])[:3, 3]
    seen, info = env.reset(options={"q": [0.4, 0.2], "target": target})
    way = target - env.robot.fk([0.4, 0.2])[:3, 3]
    q = np.array([0.4, 0.2])
    expected = np.concatenate([np.sin(q), np.cos(q), np.zeros(2), target, way])
    np.testing.assert_allclose(seen, expected, atol=1e-6)
    assert info["distance"] == pytest.approx(np.linalg.norm(way))
    _, reward, terminated, truncated, info = env.step([0.0, 0.1])
    assert not terminated and not truncated
    bonus = 7.0 if info["distance"] < 0.1 else 0.0
    assert reward == pytest.approx(-info["distance"] - 0.5 * 0.01 / 2 + bonus)
    home = env.robot.fk([0.4, 0.2])[:3, 3]
    env.reset(options={"q": [0.4, 0.2], "target": home})
    assert env.step([0.0, 0.0])[1] > 6.0


def test_an_episode_ends():
    env = make(max_steps=5)
    env.reset(seed=0)
    ends = [env.step(np.zeros(2))[3] for _ in range(5)]
    assert ends == [False] * 4 + [True]


def test_one_that_diverges_terminates_with_finite_numbers():
    env = make(effort=1e250)
    env.reset(seed=0)
    for _ in range(50):
        seen, reward, terminated, _, _ = env.step(np.ones(2))
        assert np.isfinite(seen[:4]).all() and np.isfinite(reward)
        if terminated:
            return
    pytest.fail("nothing diverged")


def test_efforts_are_the_limits_or_enough():
    from dynamis.gym import ReachEnv

    np.testing.assert_array_equal(ReachEnv("panda").effort, [87.0] * 4 + [12.0] * 3)
    arm = dy.load("planar-rr")
    assert (ReachEnv(arm).effort > np.abs(arm.gravity_torque(np.zeros(2)))).all()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"effort": [1, 2, 3]}, ShapeError),
        ({"effort": -1.0}, OptionError),
        ({"dt": 0}, OptionError),
        ({"render_mode": "ansi"}, OptionError),
        ({"target": [1.0, 2.0]}, ShapeError),
        ({"target": lambda rng: [0.0, np.nan, 0.0]}, OptionError),
        ({"reward": 3.0}, OptionError),
        ({"reward": lambda arm, q: q[0]}, OptionError),
        ({"reward": lambda arm, q, qd, action, target: q}, ShapeError),
        ({"reward": lambda arm, q, qd, action, target: 1.0 if q[0] > 0 else 0.0}, OptionError),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode.*")
def test_wrong_options_are_refused(options, error):
    from dynamis.gym import ReachEnv

    with pytest.raises(error):
        ReachEnv("planar-rr", **options)


def test_without_gymnasium_it_says_so():
    code = "import sys; sys.modules['gymnasium'] = None; import dynamis.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackageError" in done.stderr and "pip install gymnasium" in done.stderr


def test_an_action_that_is_no_number_is_refused():
    from dynamis.gym import ReachEnv

    env = ReachEnv("planar-rr")
    env.reset(seed=0)
    with pytest.raises(OptionError, match="action"):
        env.step(np.full(2, np.nan))


def make_many(count, **options):
    import dynamis.gym  # noqa: F401

    how = {"num_envs": count, "vectorization_mode": "vector_entry_point"}
    return gymnasium.make_vec("dynamis/Reach-v0", **how, **{"robot": "planar-rr", **options})


def test_many_arms_are_each_the_environment_of_one():
    many = make_many(3, max_steps=4)
    assert many.observation_space.shape == (3, *make().observation_space.shape)
    seen, _ = many.reset(seed=7)
    rng = np.random.default_rng(0)
    places, targets = many.unwrapped.q, many.unwrapped.target
    singles = [make(max_steps=4).unwrapped for _ in range(3)]
    for env, q, target, row in zip(singles, places, targets, seen, strict=True):
        np.testing.assert_array_equal(env.reset(options={"q": q, "target": target})[0], row)
    for _ in range(4):
        actions = rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        seen, reward, terminated, truncated, info = many.step(actions)
        for k, (env, action) in enumerate(zip(singles, actions, strict=True)):
            one = env.step(action)
            np.testing.assert_array_equal(one[0], seen[k])
            assert one[1:4] == (reward[k], terminated[k], truncated[k])
            assert one[4]["distance"] == info["distance"][k]
    assert truncated.all() and not terminated.any()
    seen, reward, terminated, truncated, _ = many.step(actions)  # begins anew, the action ignored
    assert not reward.any() and not truncated.any() and not many.unwrapped.qd.any()
    assert not np.array_equal(many.unwrapped.target, targets)


def test_an_arm_that_diverges_leaves_the_others_alone():
    many, quiet = make_many(2, effort=1e250), make_many(2, effort=1e250)
    for env in (many, quiet):
        env.reset(seed=0)
    ended = np.zeros(2, dtype=bool)
    for _ in range(50):
        seen, reward, terminated, *_ = many.step(np.array([[1.0, 1.0], [0.0, 0.0]], np.float32))
        calm = quiet.step(np.zeros((2, 2), np.float32))[0]
        assert np.isfinite(reward).all()
        ended |= terminated
        if ended.any():
            break
        np.testing.assert_array_equal(seen[1], calm[1])
    assert ended.tolist() == [True, False]


# closed mechanisms


@pytest.mark.thorough
def test_a_closed_mechanism_is_moved_by_its_drives():
    many = make_many(3, robot="five-bar", max_steps=2).unwrapped
    env, robot = make(robot="five-bar", max_steps=2).unwrapped, dy.load("five-bar")
    drives = list(robot.driven)
    assert env.action_space.shape == (2,) and env.observation_space.shape == (2 * 2 + 2 + 6,)
    np.testing.assert_array_equal(env.effort, [30.0, 30.0])
    seen, _ = many.reset(seed=5)
    assert np.abs(robot.closure_error(many.q)).max() < 1e-9
    assert 0.01 < np.abs(many.q - robot.home)[:, drives].max() <= 0.1
    q, target = many.q[1], many.target[1]
    np.testing.assert_array_equal(env.reset(options={"q": q, "target": target})[0], seen[1])
    x = q[drives]
    way = target - robot.fk(q)[:3, 3]
    expected = np.concatenate([np.sin(x), np.cos(x), np.zeros(2), target, way])
    np.testing.assert_allclose(seen[1], expected, atol=1e-6)
    for _ in range(2):
        rows = many.step(np.full((3, 2), [0.5, -2.0]))
        row = env.step([0.5, -2.0])
        np.testing.assert_array_equal(rows[0][1], row[0])
    run = dy.simulate(robot, 0.04, 0.002, q0=q, torque=[15.0, 0.0, -30.0, 0.0])
    np.testing.assert_allclose(env.q, run.q[-1], rtol=1e-12)
    many.step(np.zeros((3, 2)))  # all begin anew
    assert np.abs(robot.closure_error(many.q)).max() < 1e-9 and not many.qd.any()
    with pytest.raises(dy.errors.ClosureError, match="is open by"):
        env.reset(options={"q": q + 0.1})


def test_a_closed_mechanism_that_diverges_begins_where_it_closes():
    env = make(robot="five-bar", effort=1e12).unwrapped
    env.reset(seed=0)
    for _ in range(20):
        seen, reward, terminated, _, _ = env.step(np.ones(2))
        assert np.isfinite(seen).all() and np.isfinite(reward)
        if terminated:
            assert np.abs(env.robot.closure_error(env.q)).max() < 1e-6
            return
    pytest.fail("nothing diverged")


def upright(arm, q, qd, action, target):
    """The height of the tool less what moves and what is spent; zero where it is fast."""
    spent = 0.01 * sum(a * a for a in action)
    fast = sum(x * x for x in qd) > 100.0
    return arm.select(fast, 0.0, arm.fk(q)[1][3] - 0.01 * arm.kinetic_energy(q, qd) - spent)


def test_a_reward_and_a_target_of_ones_own():
    def near(rng):
        return [1.2, rng.uniform(-0.1, 0.1), 0.0]

    env = make(reward=upright, target=near).unwrapped
    env.reset(seed=3)
    assert env.target[0] == 1.2 and abs(env.target[1]) <= 0.1
    _, gained, *_ = env.step([0.5, -3.0])  # what is beyond 1 counts as 1
    height = env.robot.fk(env.q)[1, 3]
    moving = 0.01 * env.robot.kinetic_energy(env.q, env.qd)
    assert gained == pytest.approx(height - moving - 0.01 * (0.25 + 1.0), abs=1e-12)
    many = make_many(3, reward=upright, target=(1.0, 0.5, 0.0), max_steps=2)
    many.reset(seed=3)
    assert (many.unwrapped.target == [1.0, 0.5, 0.0]).all()
    action = np.array([[0.5, -3.0], [0.0, 0.0], [1.0, 1.0]])
    rewards = many.step(action)[1]
    inside = many.unwrapped
    heights = inside.robot.fk(inside.q)[:, 1, 3]
    moving = 0.01 * inside.robot.kinetic_energy(inside.q, inside.qd)
    spent = 0.01 * (np.clip(action, -1, 1) ** 2).sum(axis=1)
    np.testing.assert_allclose(rewards, heights - moving - spent, atol=1e-12)


def test_pictures_show_the_arm_and_the_target():
    env = make(render_mode="rgb_array", dt=0.02).unwrapped
    env.reset(seed=1, options={"q": [0.3, 0.4], "target": [1.0, 1.0, 0.0]})
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    np.testing.assert_array_equal(env.render(), first)
    orange = np.abs(first - np.array([240, 140, 46])).max(axis=2) < 30
    assert orange.sum() > 100  # joints of solid links
    env.reset(seed=1, options={"q": [0.3, 0.4], "target": [-1.0, 1.0, 0.0]})
    moved = (env.render() != first).any(axis=2)
    assert 20 < moved.sum() < 3000  # two marks, not the arm
    env.reset(seed=1, options={"q": [1.3, 0.4], "target": [1.0, 1.0, 0.0]})
    assert (env.render() != first).any(axis=2).sum() > moved.sum()
    assert env.metadata["render_fps"] == 50
    many = make_many(2, render_mode="rgb_array")
    many.reset(seed=1)
    pictures = many.render()
    assert len(pictures) == 2 and (pictures[0] != pictures[1]).any()


def test_a_window_shows_what_is_drawn():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    env = make(render_mode="human", dt=0.001, substeps=1).unwrapped
    env.reset(seed=1)
    env.step([0.1, 0.1])
    (number,) = pyplot.get_fignums()
    (image,) = pyplot.figure(number).axes[0].images
    env.render_mode = "rgb_array"
    np.testing.assert_array_equal(image.get_array(), env.render())
    env.close()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("count", [None, 3])
@pytest.mark.parametrize("stiffness", [2e3, 1e6])
def test_an_elastic_arm_is_seen_by_its_motors(count, stiffness):
    """Sines, cosines and rates are of the motors, the tool is of the links; nothing diverges."""
    from dynamis.gym import ReachEnv, ReachVectorEnv

    robot = two_links(stiffness, 0.5, backlash=2e-3 if stiffness == 2e3 else 0.0)
    env = ReachEnv(robot) if count is None else ReachVectorEnv(count, robot)
    env.reset(seed=1)
    action = np.random.default_rng(0).uniform(-1.0, 1.0, env.q.shape)
    torque = action * env.effort if count is None else (action * env.effort)[:, None]
    options = {"dt": env.dt / env.substeps, "torque": torque, "stops": True}
    run = dy.simulate(robot, 20 * env.dt, q0=env.q, check_step=False, **options)
    assert np.abs(run.deflection[..., 0, :]).max() > 1e-6
    for k in range(1, 21):
        seen, _, over, *_ = env.step(action)
        now = (..., k * env.substeps, slice(None))
        motor, rate, q = run.motor[now], run.motor_rate[now], run.q[now]
        assert (env.q == q).all() and not np.any(over)
        wanted = [np.sin(motor), np.cos(motor), rate, env.target]
        wanted.append(env.target - robot.fk(q)[..., :3, 3])
        np.testing.assert_allclose(seen, np.concatenate(wanted, axis=-1), rtol=1e-6, atol=1e-6)


def test_an_elastic_arm_that_diverges_begins_where_its_gears_carry_it():
    env = make(robot=two_links(1e6)).unwrapped
    env.reset(seed=0)
    env._sim._views["qd"][0] = 1e200  # a state that no arm has
    _, _, terminated, *_ = env.step([0.0, 0.0])
    assert terminated
    rest = dy.simulate(env.robot, 1e-3, q0=env.q, check_step=False)
    assert (env._sim.motor == rest.motor[0]).all() and (env._sim.motor_rate == 0.0).all()
