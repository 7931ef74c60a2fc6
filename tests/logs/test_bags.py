"""Bags of ROS 1 and ROS 2, written by rosbags: right, or refused with the reason."""

import bz2
import shutil
import sqlite3
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags import rosbag1, rosbag2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from dynamis.errors import FileError, OptionError, ShapeError
from dynamis.logs.messages import MOST_LAYOUTS, Decoder, column
from dynamis.logs.read import read_log
from dynamis.logs.recordings import Channel, Messages, Recording
from dynamis.logs.table import Allowance

from .test_read_log import EPOCH, T, arrays, said, same, two_links

KINDS = ("mcap", "db3", "bag")
STATE = "sensor_msgs/msg/JointState"
NUMBERS = "std_msgs/msg/Float64MultiArray"
LOGGED = EPOCH + np.round(T * 1e9).astype(np.int64)


def alike(log, data, **tolerance):
    """Times as nanoseconds round them, the rest exactly unless told."""
    same(log, {"t": data["t"]} if "t" in data else {}, atol=1e-12)
    same(log, {x: y for x, y in data.items() if x != "t"}, **tolerance)


def store(kind, **types):
    found = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)
    for name, text in types.items():
        found.register(get_types_from_msg(text, name.replace("__", "/msg/")))
    return found


def serialised(kind, types, message):
    if kind == "bag":
        return types.serialize_ros1(message, message.__msgtype__)
    return types.serialize_cdr(message, message.__msgtype__)


def write(path, topics, types=None, packed=None):
    """Topics by name: (type, [(time, message or bytes)]), into a file or folder of one kind."""
    kind = path.suffix[1:]
    types = types or store(kind)
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    if kind == "bag":
        writer = rosbag1.Writer(path)
        if packed:
            writer.set_compression(rosbag1.Writer.CompressionFormat[packed])
    else:
        plugin = "MCAP" if kind == "mcap" else "SQLITE3"
        folder = path.with_suffix(f".{kind}-folder")
        shutil.rmtree(folder, ignore_errors=True)
        writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin[plugin])
        if packed:
            mode = rosbag2.CompressionMode.STORAGE
            writer.set_compression(mode, rosbag2.CompressionFormat[packed])
    with writer:
        for topic, (name, messages) in topics.items():
            connection = writer.add_connection(topic, name, typestore=types)
            for stamp, one in messages:
                data = one if isinstance(one, bytes) else serialised(kind, types, one)
                writer.write(connection, int(stamp), data)
    if kind != "bag":
        shutil.copy(next(folder.glob(f"*.{kind}")), path)
    return path


def state(kind, types, stamp, names, q=(), qd=(), tau=(), frame="base"):
    time = types.types["builtin_interfaces/msg/Time"](*(int(x) for x in divmod(stamp, 10**9)))
    header = types.types["std_msgs/msg/Header"]
    header = header(7, time, frame) if kind == "bag" else header(time, frame)
    values = (np.array(x, dtype=np.float64) for x in (q, qd, tau))
    return types.types[STATE](header, list(names), *values)


def states(kind, names=("a", "b"), stamps=LOGGED, fields=("q", "qd", "tau"), types=None, **more):
    types, data = types or store(kind), arrays(len(names))
    return [
        (logged, state(kind, types, stamp, names, **{x: data[x][k] for x in fields}, **more))
        for k, (logged, stamp) in enumerate(zip(LOGGED, stamps, strict=True))
    ]


def numbers(kind, types, values):
    layout = types.types["std_msgs/msg/MultiArrayLayout"]([], 0)
    return types.types[NUMBERS](layout, np.array(values, dtype=np.float64))


def one_topic(path, messages, name="/joint_states", **more):
    return write(path, {name: (STATE, messages)}, **more)


@pytest.fixture(params=KINDS)
def path(request, tmp_path):
    return tmp_path / f"run.{request.param}"


def kind_of(path):
    return path.suffix[1:]


# joint states


def test_joint_states(path):
    one_topic(path, states(kind_of(path)))
    log = read_log(path)
    alike(log, arrays())
    assert log.name == "run"
    assert [x.level for x in log.findings] == ["note"]  # stamps count from an epoch
    alike(read_log(path, joints=["b", "a"]), {"q": arrays()["q"][:, ::-1]})
    alike(read_log(path, robot=two_links("b", "a")), {"tau": arrays()["tau"][:, ::-1]})
    alike(read_log(path, {"current": "effort"}, drive_gains=[1, 1]), {"tau": arrays()["tau"]})


@pytest.mark.parametrize("packed", ["BZ2", "LZ4"])
def test_packed_bags_of_ros_1(tmp_path, packed):
    path = one_topic(tmp_path / "run.bag", states("bag"), packed=packed)
    alike(read_log(path), arrays())


def test_packed_mcap(tmp_path):
    path = one_topic(tmp_path / "run.mcap", states("mcap"), packed="ZSTD")
    alike(read_log(path), arrays())


@pytest.mark.parametrize("kind", ["mcap", "db3"])
def test_the_folder_of_a_bag(tmp_path, kind):
    path = one_topic(tmp_path / f"run.{kind}", states(kind))
    folder = path.with_suffix(f".{kind}-folder")
    alike(read_log(folder), arrays())
    (folder / "metadata.yaml").unlink()
    alike(read_log(folder), arrays())


@pytest.mark.parametrize("kind", ["mcap", "db3"])
def test_a_bag_split_over_files(tmp_path, kind):
    folder, messages = tmp_path / "run", states(kind)
    folder.mkdir()
    cuts = [0, *range(10, 111, 10), 200]
    for k, (a, b) in enumerate(pairwise(cuts)):
        one_topic(tmp_path / f"part.{kind}", messages[a:b]).rename(folder / f"run_{k}.{kind}")
    alike(read_log(folder), arrays())
    listed = "".join(f"    - run_{k}.{kind}\n" for k in range(12))
    text = f"rosbag2_bagfile_information:\n  relative_file_paths:\n{listed}"
    (folder / "metadata.yaml").write_text(text)
    alike(read_log(folder), arrays())
    (folder / f"run_3.{kind}").unlink()
    with pytest.raises(FileError, match=rf"metadata.yaml lists 'run_3.{kind}', which is not"):
        read_log(folder)
    (folder / "metadata.yaml").write_text(f"a:\n  - ../../run_0.{kind}.zstd\n")
    with pytest.raises(FileError, match="which is not in the folder"):
        read_log(folder)


@pytest.mark.parametrize("names", ["ab", ("run_0", "run_2"), ("run_0", "other_1"), ("a_0", "b")])
def test_recordings_of_several_motions_in_a_folder(tmp_path, names):
    for name in names:
        one_topic(tmp_path / f"{name}.mcap", states("mcap"))
        shutil.rmtree(tmp_path / f"{name}.mcap-folder")
    words = r"no list of files in a metadata\.yaml, and .* do not count"
    with pytest.raises(FileError, match=words):
        read_log(tmp_path)


def test_a_folder_that_is_no_bag(tmp_path):
    for name in ("run", "run.mcap", "run.bag"):
        (tmp_path / name).mkdir()
        with pytest.raises(FileError, match=r"is a folder, expected .* a bag of ROS 2"):
            read_log(tmp_path / name)
    (tmp_path / "run" / "metadata.yaml").write_text("")
    with pytest.raises(FileError, match=r"holds no \.mcap and no \.db3"):
        read_log(tmp_path / "run")


def test_joints_in_changing_order_and_another_publisher_on_the_topic(path):
    kind, types = kind_of(path), store(kind_of(path))
    messages = states(kind)
    messages[1::2] = [
        (stamp, state(kind, types, stamp, ("b", "a"), one.position[::-1], one.velocity[::-1],
                      one.effort[::-1]))
        for stamp, one in messages[1::2]
    ]  # fmt: skip
    alike(read_log(one_topic(path, messages)), arrays())
    fingers = [(t + 1000, state(kind, types, t + 1000, ("finger",), [0.0])) for t in LOGGED]
    one_topic(path, [*messages, *fingers])
    alike(read_log(path, joints=["a", "b"]), arrays())
    alike(read_log(path, robot=two_links("a", "b")), arrays())
    with pytest.raises(OptionError, match=r"different joints: a, b \(200 times\); finger"):
        read_log(path)
    with pytest.raises(OptionError, match="no message carries all of a, finger"):
        read_log(path, joints=["a", "finger"])


def test_two_publishers_of_a_topic(tmp_path):
    types, path = store("bag"), tmp_path / "run.bag"
    text, digest = types.generate_msgdef(STATE, ros_version=1)
    with rosbag1.Writer(path) as writer:
        said = text, text.replace("\n", " \n\n")
        both = [
            writer.add_connection("/joint_states", STATE, msgdef=x, md5sum=digest, callerid=x[:9])
            for x in said
        ]
        for k, (stamp, one) in enumerate(states("bag", types=types)):
            writer.write(both[k % 2], int(stamp), serialised("bag", types, one))
    held = Recording(path, Allowance("x", 1e9)).channels["/joint_states"]
    assert len({x.definition for x in held}) == 2
    alike(read_log(path), arrays())


def test_messages_of_several_layouts_are_one_log(path):
    """Frames of other names, and lengths, among them; velocities that are sometimes empty."""
    kind, types = kind_of(path), store(kind_of(path))
    data = arrays()
    messages = [
        (t, state(kind, types, t, ("a", "b"), data["q"][k], data["qd"][k] if k % 50 else (),
                  data["tau"][k], frame="link" * (k % 7)))
        for k, t in enumerate(LOGGED)
    ]  # fmt: skip
    log = read_log(one_topic(path, messages))
    kept = np.arange(200) % 50 > 0
    alike(log, {x: y[kept] for x, y in data.items() if x != "t"})
    said(log, "4 of 200 rows with NaN", "warning")


def test_zero_stamps_give_way_to_those_of_the_recorder(path):
    stamps = LOGGED + 500
    stamps[17] = 0
    log = read_log(one_topic(path, states(kind_of(path), stamps=stamps)))
    alike(log, arrays())
    said(log, "times are those of the recorder", "note")
    log = read_log(one_topic(path, states(kind_of(path), stamps=LOGGED * 0)))
    said(log, "times are those of the recorder", "note")


def test_late_and_dropped_messages(path):
    messages = states(kind_of(path))
    messages[50], messages[51] = messages[51], messages[50]
    alike(read_log(one_topic(path, messages)), arrays())  # recorded late, stamped right
    stamps = LOGGED.copy()
    stamps[[50, 51]] = stamps[[51, 50]]
    said(read_log(one_topic(path, states(kind_of(path), stamps=stamps))), "late stamps", "warning")
    log = read_log(one_topic(path, [x for k, x in enumerate(messages) if not 80 < k < 120]))
    assert len(log) == 161
    said(log, "1 of more than 10", "warning")
    half = [
        *messages[:100],
        *[(t, m) for (t, _), (_, m) in zip(messages[100:], messages[:100], strict=True)],
    ]
    with pytest.raises(OptionError, match="time runs backwards"):
        read_log(one_topic(path, half))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": ("a", "a"), "q": (1, 2)}, "'name' names 'a' twice"),
        ({"names": ("a", "b"), "q": (1, 2, 3)}, "'position' has 3 numbers, 'name' 2 joints"),
        ({"names": "ab", "q": (1, 2), "tau": (1,)}, "'effort' has 1 number, 'name' 2 joints"),
        ({"names": (), "q": ()}, "'name' names no joints"),
    ],
)
def test_messages_that_contradict_themselves(path, given, words):
    kind = kind_of(path)
    wrong = state(kind, store(kind), int(LOGGED[-1]) + 1, **given)
    one_topic(path, [*states(kind), (LOGGED[-1] + 1, wrong)])
    with pytest.raises(FileError, match=f"/joint_states message 200: {words}"):
        read_log(path)


def test_joints_without_names(path):
    kind, types, data = kind_of(path), store(kind_of(path)), arrays()
    given = [
        (t, state(kind, types, t, (), data["q"][k], (), data["tau"][k]))
        for k, t in enumerate(LOGGED)
    ]
    log = read_log(one_topic(path, given), joints=["2", "1"])
    alike(log, {"q": data["q"][:, ::-1], "tau": data["tau"][:, ::-1]})
    assert log.qd is None


def test_joint_states_without_effort(path):
    one_topic(path, states(kind_of(path), fields=("q", "qd")))
    with pytest.raises(
        OptionError, match=r"no 'effort' or .* for tau; it has: position, velocity, t"
    ):
        read_log(path)


# topics


def test_several_topics_are_listed(path):
    kind = kind_of(path)
    other = states(kind, names=("b", "c"))
    write(path, {"/arm": (STATE, states(kind)), "/desired": (STATE, other[:150])})
    listed = r"several topics of joint states: /arm \(.*JointState, 200 messages, joints a, b\); "
    with pytest.raises(OptionError, match=listed + r"/desired \(.*, 150 messages, joints b, c\)"):
        read_log(path)
    assert len(read_log(path, topic="/desired")) == 150
    alike(read_log(path, joints=["a", "b"]), arrays())  # only one carries both
    with pytest.raises(OptionError, match="did you mean '/arm'"):
        read_log(path, topic="/arms")
    for wrong in (3, ["/a", "/b", "/c"], [1], b"/arm"):
        with pytest.raises(OptionError, match="topic is"):
            read_log(path, topic=wrong)


def test_efforts_of_another_topic_of_joint_states(path):
    kind, data = kind_of(path), arrays(3)
    types = store(kind)
    given = [
        (t + 100, state(kind, types, t + 2_000_000, "cba", (), (), data["tau"][k][::-1]))
        for k, t in enumerate(LOGGED)
    ]
    places = states(kind, names="ab", fields=("q", "qd"))
    write(path, {"/joint_states": (STATE, places), "/drives": (STATE, given)})
    log = read_log(path)
    alike(log, {"t": T[1:], "q": arrays()["q"][1:]}, atol=1e-12)
    expected = [np.interp(T[1:], T + 0.002, data["tau"][:, k]) for k in range(2)]
    alike(log, {"tau": np.stack(expected, axis=1)}, atol=1e-6)
    words = "effort is that of /drives, interpolated to the header stamps of /joint_states"
    assert "2 ms away in the median, 2 ms at most" in said(log, words, "note")
    alike(read_log(path, topic=("/joint_states", "/drives")), {"tau": log.tau})


def test_efforts_of_a_topic_of_numbers(path):
    kind, types, data = kind_of(path), store(kind_of(path)), arrays()
    given = [(t, numbers(kind, types, data["tau"][k])) for k, t in enumerate(LOGGED)]
    places = states(kind, fields=("q",), stamps=LOGGED + 777)
    topics = {"/joint_states": (STATE, places), "/effort": (NUMBERS, given)}
    log = read_log(write(path, topics))
    alike(log, {"q": data["q"], "tau": data["tau"]})
    words = "/effort for a, b, interpolated to the times of the recorder of /joint_states: the"
    assert "nearest are 0 ms away" in said(log, words, "note")
    topics["/torque"] = NUMBERS, given[::2]
    write(path, topics)
    with pytest.raises(OptionError, match=r"may be in /effort .*; /torque .*, 100 messages"):
        read_log(path)
    thinned = read_log(path, topic=["/joint_states", "/torque"])
    assert len(thinned) == 199  # nothing is extrapolated beyond the last
    late = [(t + 10**12, m) for t, m in given]
    write(path, {"/joint_states": (STATE, places), "/effort": (NUMBERS, late)})
    with pytest.raises(OptionError, match="only 0 of 200 times of the recorder"):
        read_log(path)


def test_efforts_of_the_joint_states_themselves_come_first(path):
    kind, types = kind_of(path), store(kind_of(path))
    places = states(kind)
    places[0] = places[0][0], state(kind, types, int(LOGGED[0]), "ab", arrays()["q"][0], (0, 0))
    given = [(t, numbers(kind, types, (1, 2))) for t in LOGGED]
    write(path, {"/joint_states": (STATE, places), "/effort": (NUMBERS, given)})
    alike(read_log(path), {"tau": arrays()["tau"][1:]})
    merged = read_log(path, topic=("/joint_states", "/effort"))
    alike(merged, {"tau": np.tile([1.0, 2.0], (200, 1))})


@pytest.mark.parametrize("name", ["/joint_cmd", "/arm/desired", "/Command", "/set_points", "/arm"])
def test_a_topic_of_commands_is_questioned_unless_asked_for(tmp_path, name):
    path = one_topic(tmp_path / "run.mcap", states("mcap"), name=name)
    words, log = f"{name} was taken, by its name a topic of commands", read_log(path)
    alike(log, arrays())
    assert [x.joints for x in log.findings if words in x.what] == [("a", "b")] * (name != "/arm")
    assert not any(words in x.what for x in read_log(path, topic=name).findings)


def test_an_effort_topic_of_other_joints(path):
    kind, types = kind_of(path), store(kind_of(path))
    given = [(t, state(kind, types, t, "cd", (), (), (1, 2))) for t in LOGGED]
    write(path, {"/q": (STATE, states(kind, fields=("q",))), "/tau": (STATE, given)})
    with pytest.raises(OptionError, match="no 'effort'"):
        read_log(path)
    with pytest.raises(OptionError, match=r"has no joint 'a'"):
        read_log(path, topic=("/q", "/tau"))
    with pytest.raises(OptionError, match="efforts are added to joint states alone"):
        many = [(t, numbers(kind, types, (1, 2))) for t in LOGGED]
        write(path, {"/n": (NUMBERS, many), "/q": (STATE, states(kind, fields=("q",)))})
        read_log(path, topic=("/n", "/q"))


# other messages, by their definition

MOTOR = "float32 q\nfloat32 dq\nint16 tau  # in units of 1/100\nbool ready\n"
LOW = (
    "# a comment\nuint8 MODE=3\nstring TEXT=a # b = c\nstd_msgs/Header header\nuint8 mode\n"
    "string[] joint_names\nMotor[2] motors\nfloat64 battery\nstring<=8 note\n"
)


def custom(kind):
    types = store(kind, own__Motor=MOTOR.replace("#", " #"))
    types.register(get_types_from_msg(LOW, "own/msg/Low"))
    return types


def low(kind, types, k):
    stamp = types.types["builtin_interfaces/msg/Time"](*(int(x) for x in divmod(LOGGED[k], 10**9)))
    header = types.types["std_msgs/msg/Header"]
    header = header(k, stamp, "b") if kind == "bag" else header(stamp, "b")
    data = arrays()
    motors = [
        types.types["own/msg/Motor"](
            data["q"][k, i], data["qd"][k, i], int(100 * data["tau"][k, i]), True
        )
        for i in range(2)
    ]
    return types.types["own/msg/Low"](header, 1, ["a", "b"], motors, 20.0 + k, "x" * (k % 3))


def test_custom_messages_by_the_definition_in_the_bag(path):
    kind = kind_of(path)
    types = custom(kind)
    write(
        path,
        {"/low": ("own/msg/Low", [(t, low(kind, types, k)) for k, t in enumerate(LOGGED)])},
        types,
    )
    columns = {"q": "motors.q", "qd": "motors.dq", "tau": "motors.tau"}
    log = read_log(path, columns, topic="/low", units={"tau": 0.01})
    alike(log, {"t": T, "q": arrays()["q"], "qd": arrays()["qd"]}, atol=1e-6)
    alike(log, {"tau": arrays()["tau"]}, atol=0.01)
    turned = read_log(path, columns, topic="/low", joints=["b", "a"])
    alike(turned, {"q": log.q[:, ::-1]})
    with pytest.raises(FileError, match=r"holds /low .*\nhint: topic= and columns= read"):
        read_log(path)
    with pytest.raises(OptionError, match=r"no 'q' .*it has: t, .*mode, motors\.q, motors\.dq"):
        read_log(path, topic="/low")
    with pytest.raises(ShapeError, match="holds bool, expected numbers"):
        read_log(path, columns | {"qd": "motors.ready"}, topic="/low")


def test_types_without_definition_are_refused_by_name(tmp_path):
    types = custom("db3")
    path = tmp_path / "run.db3"
    write(
        path,
        {"/low": ("own/msg/Low", [(t, low("db3", types, k)) for k, t in enumerate(LOGGED)])},
        types,
    )
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE message_definitions")
    with pytest.raises(FileError, match="the type own/Low has no definition in the recording"):
        read_log(path, topic="/low")


def test_old_bags_have_no_definitions_but_those_of_ros(tmp_path):
    path = one_topic(tmp_path / "run.db3", states("db3"))
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE message_definitions")
    alike(read_log(path), arrays())


def test_lists_that_change_their_length(path):
    kind, types = kind_of(path), store(kind_of(path))
    given = [(t, numbers(kind, types, range(2 + k // 199))) for k, t in enumerate(LOGGED)]
    write(path, {"/n": (NUMBERS, given)})
    with pytest.raises(
        ShapeError, match="'data' holds 2 numbers in 199 messages, 3 numbers in 1 m"
    ):
        read_log(path, {"q": "data", "tau": "data"}, topic="/n")


def test_messages_of_the_other_byte_order(tmp_path):
    types = store("db3")
    given = [
        (t, bytes(types.serialize_cdr(one, STATE, little_endian=bool(k % 2))))
        for k, (t, one) in enumerate(states("db3"))
    ]
    alike(read_log(one_topic(tmp_path / "run.db3", given)), arrays())


# the layouts of messages and rosbags' own decoding, message by message

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
DOUBLES = st.floats(allow_nan=False)


@st.composite
def many(draw):
    """Joint states in any mixture of lengths, most alike."""
    usual = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    found = []
    for _ in range(draw(st.integers(1, 12))):
        names = usual if draw(st.integers(0, 3)) else draw(st.lists(TEXTS, max_size=3))
        size = len(names)
        lists = [
            draw(st.lists(DOUBLES, min_size=n, max_size=n))
            for n in (size, size, draw(st.integers(0, 3)))
        ]
        frame = "base" if draw(st.integers(0, 3)) else draw(TEXTS)
        found.append((draw(st.integers(0, 2**31 - 1)), names, lists, frame, draw(st.booleans())))
    return found


TYPES = {kind: store(kind) for kind in ("db3", "bag")}
TEXT = {
    "db3": ("cdr", "", ""),
    "bag": (
        *("ros1", "ros1msg"),
        TYPES["bag"].generate_msgdef(STATE, ros_version=1)[0],
    ),
}


@pytest.mark.parametrize("kind", ["db3", "bag"])
@given(drawn=many())
def test_groups_of_layouts_are_what_rosbags_decodes_one_by_one(kind, drawn):
    types, payloads = TYPES[kind], []
    for seconds, names, lists, frame, little in drawn:
        one = state(kind, types, seconds * 10**9 + 5, names, *lists, frame=frame)
        if kind == "bag":
            payloads.append(bytes(types.serialize_ros1(one, STATE)))
        else:
            payloads.append(bytes(types.serialize_cdr(one, STATE, little_endian=little)))
    data = bytearray(b"".join(payloads))
    ends = np.cumsum([len(x) for x in payloads])
    messages = Messages(np.arange(len(ends), dtype=np.uint64), ends, data)
    groups = Decoder(Channel("/a", STATE, *TEXT[kind]), "x").groups(messages)
    assert sorted(np.concatenate([x.rows for x in groups])) == [*range(len(ends))]
    decode = types.deserialize_ros1 if kind == "bag" else types.deserialize_cdr
    for group in groups:
        texts = {int(k): names for which, names in group.texts("name") for k in which}
        for place, row in enumerate(group.rows):
            one = decode(payloads[row], STATE)
            assert texts[place] == tuple(one.name)
            for field in ("position", "velocity", "effort"):
                assert group.numbers(field)[place].tolist() == getattr(one, field).tolist()
            assert group.numbers("header.stamp.sec")[place] == one.header.stamp.sec
    seconds = column(groups, "header.stamp.sec", "x")
    assert seconds.tolist() == [x[0] for x in drawn]


# what a file may not do


def mcap_of(path, name, text, payloads, encoding="cdr", form="ros2msg", topic="/joint_states"):
    writer = pytest.importorskip("mcap.writer")
    with path.open("wb") as file:
        out = writer.Writer(file)
        out.start(profile="ros2")
        schema = out.register_schema(name, form, text.encode())
        channel = out.register_channel(topic, encoding, schema)
        for k, data in enumerate(payloads):
            out.add_message(channel, int(LOGGED[k]), data, 0)
        out.finish()
    return path


CODE = "__import__('pathlib').Path('made').touch()"
FIELDS = "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("own/msg/A", f"{FIELDS}int32 x = {CODE}\nint32 y: {CODE}\n", 'holds "int32 y: '),
        ("own/msg/A", f"{FIELDS}float64 a; {CODE}\n", 'holds "float64 a; '),
        ("own/msg/A", f"{FIELDS}{CODE} x\n", 'holds "__import__'),
        ("own/msg/A", f"{FIELDS}x\\n{CODE} y\n", "holds "),
        ("own/msg/A", f"{FIELDS}float64[{CODE}] y\n", "holds "),
        ("own/msg/A", f'{FIELDS}{"=" * 80}\nMSG: own/B\n"""\n{CODE}\n', "holds "),
        ("own/msg/A", f"{FIELDS}{'=' * 80}\nMSG: {CODE}\nfloat64 x\n", "holds 'float64 x'"),
        (f'own/msg/A"); {CODE} #', FIELDS, "is no type of a message"),
        ("own/msg/A\n    " + CODE, FIELDS, "is no type of a message"),
        ("own/msg/A", "float64 x\n" * 120_000, "has 1200000 characters"),
        ("own/msg/A", f"{FIELDS}own/A a\n", "holds itself|ends before"),
        ("own/msg/A", f"{FIELDS}own/Gone a\n", "the type own/Gone has no definition"),
        ("own/msg/A", f"{FIELDS}wstring a\n", "a is wstring, which is not decoded"),
        ("own/msg/A", f"{FIELDS}float64 a\n", "ends before its own/A does"),
    ],
)
def test_hostile_definitions(tmp_path, monkeypatch, name, text, words):
    monkeypatch.chdir(tmp_path)
    path = mcap_of(tmp_path / "run.mcap", name, text, [b"\0\1\0\0" + bytes(16)] * 3)
    with pytest.raises(FileError, match=words):
        read_log(path, topic="/joint_states")
    with pytest.raises(FileError):
        read_log(path)
    assert not (tmp_path / "made").exists()


def test_no_code_is_made_of_a_definition(path, monkeypatch):
    import builtins

    kind, types = kind_of(path), custom(kind_of(path))
    given = [(t, low(kind, types, k)) for k, t in enumerate(LOGGED)]
    write(path, {"/low": ("own/msg/Low", given)}, types)
    columns = {"q": "motors.q", "tau": "motors.tau"}
    expected = read_log(path, columns, topic="/low")

    def refused(*_):
        raise AssertionError("a definition was executed")

    for name in ("exec", "eval", "compile"):
        monkeypatch.setattr(builtins, name, refused)
    alike(read_log(path, columns, topic="/low"), {"q": expected.q})


def test_constants_defaults_bounds_and_comments_in_definitions():
    text = LOW.replace("Motor[2] motors", "own/Motor[<=2] motors 3 # none") + "@key\n  \n"
    text += f"{'=' * 80}\nMSG: own/Motor\n{MOTOR}{'=' * 80}\nMSG: std_msgs/Header\ntime stamp\n"
    fields = Decoder(Channel("/a", "own/Low", "ros1", "ros1msg", text), "x").fields
    assert [x.name for x in fields("own/Low")] == [
        *("header", "mode", "joint_names", "motors", "battery", "note"),
    ]
    assert fields("own/Low")[3] == ("motors", "own/Motor", -1)
    assert fields("own/Motor")[2] == ("tau", "int16", None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: b"\x28\xb5\x2f\xfd" + x, r"begins with 28b5.*\nhint: .*message by message"),
        (lambda x: b"\0\2" + x[2:], "begins with 0002, expected 0001 or 0000"),
        (lambda x: x[:-9], "ends before its sensor_msgs/JointState does"),
        (lambda x: x + bytes(8), "needs"),
        (lambda x: b"", "begins with"),
        (lambda x: x[:12] + b"\xff" * 4 + x[16:], "ends before"),
        (lambda x: x.replace(b"a\0", b"\xff\0"), "cannot be read: .*utf-8"),
        (lambda x: x.replace(b"a\0", b"ab"), "the text of name in a message has no end"),
    ],
)
def test_damaged_messages(tmp_path, change, words):
    types = store("db3")
    given = [(t, bytes(types.serialize_cdr(one, STATE))) for t, one in states("db3", frame="")]
    given[3] = given[3][0], change(given[3][1])
    with pytest.raises(FileError, match=words):
        read_log(one_topic(tmp_path / "run.db3", given))


def test_messages_of_too_many_layouts(tmp_path):
    types = store("db3")
    given = [
        (k, state("db3", types, k + 1, "a", [1], [1], [1], frame="x" * k))
        for k in range(MOST_LAYOUTS + 1)
    ]
    with pytest.raises(FileError, match="more than 1000 layouts"):
        read_log(one_topic(tmp_path / "run.db3", given))


@pytest.mark.parametrize("cut", [3, 60, 2000, -3, -300])
def test_bags_cut_anywhere(path, cut):
    one_topic(path, states(kind_of(path)))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileError, match=r"run\."):
        read_log(path)


def test_a_bag_that_takes_too_much_memory(path):
    one_topic(path, states(kind_of(path)))
    with pytest.raises(FileError, match=r"holds .* MiB of numbers.*\nhint: .*max_bytes="):
        read_log(path, max_bytes=20_000)
    alike(read_log(path, max_bytes=200_000), arrays())


def bomb(kind, declared):
    """A chunk of 30 MB that declares another size."""
    raw = bytes(30_000_000)
    if kind == "bag":
        head = {b"compression": b"bz2", b"size": struct.pack("<I", declared), b"op": b"\5"}
        return record(head, bz2.compress(raw))
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress(raw)
    body = struct.pack("<QQQII", 0, 1, declared, 0, 4) + b"zstd"
    body += struct.pack("<Q", len(packed)) + packed
    return struct.pack("<BQ", 6, len(body)) + body


def record(head, data):
    fields = b"".join(
        struct.pack("<I", len(k) + len(v) + 1) + k + b"=" + v for k, v in head.items()
    )
    return struct.pack("<I", len(fields)) + fields + struct.pack("<I", len(data)) + data


@pytest.mark.parametrize("kind", ["mcap", "bag"])
@pytest.mark.parametrize(
    ("declared", "words"),
    [(30_000_000, "holds 28.6. MiB of numbers"), (50_000, "another size than the 50000 bytes")],
)
def test_chunks_that_unpack_to_much(tmp_path, kind, declared, words):
    path = one_topic(tmp_path / f"run.{kind}", states(kind))
    data = path.read_bytes()
    place = len(b"#ROSBAG V2.0\n") if kind == "bag" else 8
    size = struct.unpack_from("<I", data, place)[0] if kind == "bag" else 0
    if kind == "bag":  # behind the header of the bag
        place += 8 + size + struct.unpack_from("<I", data, place + 4 + size)[0]
        path.write_bytes(data[:place] + bomb(kind, declared) + data[place:])
    else:  # without a summary
        end = struct.pack("<BQQQI", 2, 20, 0, 0, 0) + data[:8]
        path.write_bytes(data[:8] + bomb(kind, declared) + end)
    with pytest.raises(FileError, match=words):
        read_log(path, max_bytes=1_000_000)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("DROP TABLE messages", "it has no table 'messages'"),
        ("DROP TABLE topics", "it has no table 'topics'"),
        (
            "DROP TABLE messages; CREATE VIEW messages AS "
            f"{ENDLESS} i AS id, 1 AS topic_id, i AS timestamp, x'00' AS data FROM n",
            "it has no table 'messages'",
        ),
        (
            "DROP TABLE messages; CREATE TABLE messages (id, topic_id, timestamp, "
            "data BLOB AS (zeroblob(1000000000)))",
            "table 'messages' is not that of a bag",
        ),
        ("ALTER TABLE messages DROP COLUMN data", "table 'messages' is not that of a bag"),
        ("UPDATE messages SET data = 'text' WHERE id = 5", "a message is no bytes"),
        ("UPDATE messages SET timestamp = 'now' WHERE id = 5", "a message is no bytes with a time"),
        ("UPDATE messages SET timestamp = -5", "cannot be read"),
        ("UPDATE topics SET name = x'00'", "its topics have no names"),
        ("DELETE FROM messages", "has no messages|holds"),
        ("DELETE FROM topics", "holds no topics"),
    ],
)
def test_sqlite_files_that_are_no_bags(tmp_path, program, words):
    path = one_topic(tmp_path / "run.db3", states("db3"))
    base = sqlite3.connect(path)
    base.executescript(program)
    base.commit()
    base.close()
    with pytest.raises(FileError, match=words):
        read_log(path)
    assert [x.name for x in tmp_path.iterdir() if x.is_file()] == ["run.db3"]  # nothing written


def test_a_database_that_was_not_closed(tmp_path):
    path = one_topic(tmp_path / "run.db3", states("db3"))
    (tmp_path / "run.db3-wal").write_bytes(b"rest")
    with pytest.raises(FileError, match=r"was not closed: run\.db3-wal lies beside it"):
        read_log(path)


def test_a_bag_of_ros_1_that_was_not_closed(tmp_path):
    path = one_topic(tmp_path / "run.bag", states("bag"))
    data = path.read_bytes()
    place = data.index(b"index_pos=") + 10
    path.write_bytes(data[:place] + bytes(8) + data[place + 8 :])
    with pytest.raises(FileError, match=r"it was not closed\nhint: `rosbag reindex`"):
        read_log(path)


def test_a_topic_of_two_types(tmp_path):
    types = custom("db3")
    path = one_topic(tmp_path / "run.db3", states("db3"), types=types)
    with sqlite3.connect(path) as base:
        base.execute("INSERT INTO topics SELECT 9, name, 'own/msg/Low', 'cdr', '', '' FROM topics")
    with pytest.raises(FileError, match="messages of several types"):
        read_log(path)


@pytest.mark.parametrize("content", [b"", b"\n\n", bytes(100), b"SQLite format 3\0" + bytes(200)])
def test_garbage(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"run\."):
        read_log(path)


# every type of ROS

EMPTY = "structure_needs_at_least_one_member"  # which ROS 1 does not write


def drawn(types, name, rng):
    """A message of a type with random contents, and its numbers by path."""
    values, numbers = [], {}
    for field, (kind, what) in types.fielddefs[name][1]:
        one = what if kind <= 2 else what[0][1]
        count = 1 if kind <= 2 else what[1] if kind == 3 else int(rng.integers(0, 3))
        inner = kind if kind <= 2 else what[0][0]
        if inner == 2:
            parts = [drawn(types, one, rng) for _ in range(count)]
            for _, found in parts:
                for path, said in found.items():
                    numbers.setdefault(f"{field}.{path}", []).extend(said)
            values.append([x for x, _ in parts] if kind > 2 else parts[0][0])
        elif one[0] == "string":
            texts = ["x" * int(rng.integers(0, 5)) for _ in range(count)]
            values.append(texts if kind > 2 else texts[0])
        else:
            dtype = {"bool": "?", "byte": "u1", "char": "u1", "octet": "u1"}.get(one[0], one[0])
            array = rng.integers(0, 2 if dtype == "?" else 100, count).astype(dtype)
            numbers.setdefault(field, []).extend(array.tolist())
            values.append(array if kind > 2 else array.tolist()[0])
    return types.types[name](*values), numbers


@pytest.mark.parametrize("kind", ["db3", "bag"])
def test_every_type_of_ros_is_decoded_by_its_definition(kind):
    types, rng, count = TYPES[kind], np.random.default_rng(3), 0
    for name in types.fielddefs:
        if any(x in str(types.fielddefs[name]) for x in ("wstring", "float128")):
            continue
        said, numbers = zip(*(drawn(types, name, rng) for _ in range(6)), strict=True)
        text = types.generate_msgdef(name, ros_version=1 if kind == "bag" else 2)[0]
        form = ("ros1", "ros1msg") if kind == "bag" else ("cdr", "ros2msg")
        payloads = [bytes(serialised(kind, types, x)) for x in said]
        ends = np.cumsum([len(x) for x in payloads])
        messages = Messages(np.arange(6, dtype=np.uint64), ends, bytearray(b"".join(payloads)))
        for group in Decoder(Channel("/a", name, *form, text), "x").groups(messages):
            for k, row in enumerate(group.rows):
                found = {x: group.numbers(x)[k].tolist() for x in group.layout.numbers}
                left_out = EMPTY if kind == "bag" else "none"
                held = {x: y for x, y in numbers[row].items() if y and left_out not in x}
                assert {x: y for x, y in found.items() if y} == held
                count += 1
    assert count > 500
