"""hosts.toml, and names that lead to one host: each mistake a sentence."""

from __future__ import annotations

import zipfile

import pytest

from tollbench.errors import TollError
from tollbench.fleet import hosts
from tollbench.fleet.contact import Contact, NoContact
from tollbench.fleet.fleets import HostFacts
from tollbench.fleet.looking import looked_at
from tollbench.fleet.sending import wheel_for_hosts


def read(tmp_path, text):
    file = tmp_path / "lab.toml"
    file.write_text(text)
    return hosts.of_file(file)


def test_a_host_is_reached_by_its_alias_or_its_name(tmp_path):
    one, two, three = read(
        tmp_path,
        '[hosts.one]\nssh = "alias"\n[hosts.two]\npython = "/opt/python3"\ntoll = "/opt/toll"\n'
        '[hosts.three]\nengine = "flux"\naccess = ["--requires=host:n3"]\n',
    )
    assert (one.ssh, one.python, one.engine) == ("alias", "python3", "ssh")
    assert (two.ssh, two.python, two.toll) == ("two", "/opt/python3", "/opt/toll")
    assert not three.by_ssh


def test_hosts_of_one_kind_share_a_table_and_others_have_it_whole(tmp_path):
    found = read(
        tmp_path, '[hosts.a]\nkind = "m7"\n[hosts.b]\n[hosts.c]\nkind = "m7"\n[hosts.d]\nkind = "m7"\n'
    )
    assert hosts.shares(found) == {"a": (1, 3), "b": (1, 1), "c": (2, 3), "d": (3, 3)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lacks hosts"),
        ("[hosts]\n", "names no host"),
        ('[hosts.one]\nssh = "a"\n[hosts.two]\nssh = "a"\n', "hosts.one and hosts.two are one host"),
        ("[hosts.one]\n[hosts.one]\n", "lab.toml"),
        ("[hosts.one]\nsssh = 1\n", "sssh"),
        ('[hosts.one]\nkind = "a b"\n', "kind"),
        ('[hosts.one]\nssh = "-oProxyCommand=x"\n', "ssh"),
        ('[hosts.one]\nssh = "a; touch /tmp/x"\n', "ssh"),
        ('[hosts.one]\npython = "python3; true"\n', "python"),
        ('[hosts.one]\npython = "~/bin/python3"\n', "python = ~/bin/python3 begins with ~"),
        ('[hosts.one]\ntoll = "~me/toll"\n', "toll = ~me/toll begins with ~"),
        ('[hosts."../up"]\n', "hosts"),
        ('[hosts.one]\nengine = "dask"\n', "engine"),
        ('[hosts.one]\nengine = "flux"\n', "says nothing by which flux finds its machine"),
        ("hosts = 3", "hosts"),
        ("[hosts.one", "lab.toml"),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence(tmp_path, text, said):
    with pytest.raises(TollError, match=said):
        read(tmp_path, text)


@pytest.mark.parametrize("name", ["toll.whl", "tollbench-1.whl", "other-1-py3-none-any.whl", "tollbench"])
def test_a_wheel_that_is_named_otherwise_is_a_sentence(tmp_path, name):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tollbench/__main__.py", "")
    with pytest.raises(TollError, match="is not named as a wheel of toll is"):
        wheel_for_hosts(tmp_path, path)
    sound = path.rename(tmp_path / "tollbench-0.1.0.dev1+x-py3-none-any.whl")
    assert wheel_for_hosts(tmp_path, sound).version == "0.1.0.dev1+x"


def test_without_slurm_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TollError, match="no sinfo"):
        hosts.of_slurm("lab")
    with pytest.raises(TollError, match="no name of a partition"):
        hosts.of_slurm("--all")


class Answers(Contact):
    """Hosts that answer what they are told to."""

    def ask(self, host, action, given, model):
        told = ANSWERS[host.name]
        if isinstance(told, str):
            raise NoContact(told)
        usual: dict[str, object] = {"system": "Linux", "boot_id": host.name, "free_mb": 900.0}
        usual["lock"] = ((1, 1),)
        return model(**(usual | told))


ANSWERS: dict[str, str | dict[str, object]] = {
    "good": {"boot_id": "a"},
    "same": {"boot_id": "a"},
    "beside": {"boot_id": "a", "lock": ((2, 2),)},
    "full": {"free_mb": 1.0},
    "other": {"system": "FreeBSD"},
    "silent": "it does not answer within 30 s",
    "late": {"time": 4e9},
    "free": {"lock": ()},
}
LOOKED = {
    "good": "",
    "same": "it is the same machine as good",
    "beside": "",
    "full": "no space: 1 MB free",
    "other": "it runs FreeBSD, and toll measures on Linux",
    "silent": "it does not answer within 30 s",
    "late": "",
    "free": "",
}


def test_hosts_are_looked_at_before_anything_is_sent():
    asked = [hosts.Host(name, name) for name in ANSWERS]
    heard: list[str] = []
    found = looked_at(asked, Answers(), lambda looked: heard.append(looked.host.name), lambda: False)
    assert {looked.host.name: looked.reason for looked in found} == LOOKED
    assert sorted(heard) == sorted(ANSWERS)
    status = {looked.host.name: looked.status.value for looked in found if looked.reason}
    assert status == {"same": "refused", "full": "failed", "other": "refused", "silent": "unreachable"}
    notes = {looked.host.name: " ".join(looked.notes) for looked in found}
    assert "shares a kernel with good" in notes["beside"]
    assert "s ahead" in notes["late"]
    assert "no lock file" in notes["free"]


def test_facts_of_a_stranger_are_checked():
    with pytest.raises(ValueError, match="free_mb"):
        HostFacts.model_validate({"free_mb": float("inf")})
