"""Devices: profiles, keys, files."""

import pickle

import pytest

import wafer


def test_profiles_and_policies_equal_the_command_line():
    assert {"warp", "warp-pi", "drive-a", "pm9d3"} <= set(wafer.profiles())
    assert "greedy" in wafer.policies()
    assert "aerospike" in wafer.models()
    for name in wafer.profiles():
        assert wafer.Device(name).ru_count > 0


def test_keywords_are_dotted_keys():
    device = wafer.Device(
        "warp",
        overprovisioning=0.2,
        isolation="persistently",
        gc_background_free=0.0,
        reclaim_unit_size="256MiB",
        handle_isolation_2="initially",
        service={"submit_us": 5.0},
        fdp=True,
    )
    assert device.config["isolation"] == "persistently"
    assert device.config["gc"]["background_free"] == 0.0
    assert device.config["reclaim_unit"] == {"size": "256MiB"}
    assert device.config["handle_isolation"] == {"2": "initially"}
    assert device.config["service"]["submit_us"] == 5.0
    assert device.overprovisioning == pytest.approx(0.2, abs=1e-3)
    assert wafer.Device("warp", **{"gc.policy": "fifo"}).config["gc"]["policy"] == "fifo"
    assert wafer.Device("warp", namespaces=[{"size": "100GiB", "handles": [1]}]).config["namespaces"] == [
        {"size": "100GiB", "handles": [1]}
    ]


def test_devices_can_be_written_and_read_again(tmp_path):
    for power in ({"timing_power": {"idle_w": 4.0}}, {"timing_power_idle_w": 4.0}):
        assert wafer.Device("pm9a3", **power).config["timing"]["power"]["idle_w"] == 4.0
    device = wafer.Device("warp-pi", gc_policy="fifo")
    path = tmp_path / "mine.toml"
    device.to_toml(path)
    assert wafer.Device(path) == device
    assert wafer.Device(path, gc_policy="greedy") == wafer.Device("warp-pi")
    assert wafer.Device.from_dict(device.config) == device
    assert pickle.loads(pickle.dumps(device)) == device
    assert device.replace(gc_policy="greedy") == wafer.Device("warp-pi")
    assert len({device, wafer.Device(path)}) == 1
    assert "985 RUs of 256 MiB" in repr(device)


def test_an_odd_derived_size_is_reported():
    with pytest.warns(UserWarning, match=r"over-provisioning is now 128.*set overprovisioning") as caught:
        device = wafer.Device("warp", capacity="224GiB")
    assert caught[0].filename == __file__
    assert "over-provisioning is now" in device.notices[0]
    with pytest.warns(UserWarning, match="over-provisioning is now"):
        wafer.Device("warp").replace(capacity="224GiB")
    assert wafer.Device("warp").notices == []
    assert wafer.Device("warp", capacity="28GiB", reclaim_unit_size="8MiB").notices == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"capacity": "lots"}, "capacity: `lots` is not a size"),
        ({"handles": 0}, "handles"),
        ({"gc_policy": "gredy"}, "did you mean `greedy`"),
        ({"gc_policy": object()}, "gc_policy: cannot write a object as TOML"),
        ({"isolation": "sometimes"}, "unknown value `sometimes`"),
    ],
)
def test_errors_are_one_line(keys, message):
    with pytest.raises(wafer.ConfigError) as raised:
        wafer.Device("warp", **keys)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
