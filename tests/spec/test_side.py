"""What BASE and HEAD may be: git's own syntax first, never two meanings, never an option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.errors import RequestError
from regress.spec.side import RevisionSide, Side, StoredSide, parse_side

REVISIONS = {"HEAD", "main", "HEAD@{1}", "pkg@1.2", "pkg", "@", "abcdef12", "00000001", "both", "git-like"}
ENVIRONMENTS = ("nightly", "stable", "1.2")
RUNS = {"abcdef12", "00000002"}
FOLDERS = {"both", "runs/x", "HEAD@nightly", "-x"}


def parse(text: str) -> Side:
    def is_revision(rev: str) -> bool:
        assert rev, "git is not asked about nothing"
        assert not rev.startswith("-"), "git would read an option"
        assert rev.isprintable()
        return rev in REVISIONS

    return parse_side(
        text,
        is_revision=is_revision,
        environments=ENVIRONMENTS,
        run_exists=RUNS.__contains__,
        folder_exists=FOLDERS.__contains__,
    )


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("HEAD", RevisionSide(rev="HEAD", environment=None)),
        ("main@nightly", RevisionSide(rev="main", environment="nightly")),
        ("@stable", RevisionSide(rev=None, environment="stable")),
        ("@", RevisionSide(rev="@", environment=None)),
        ("HEAD@{1}", RevisionSide(rev="HEAD@{1}", environment=None)),
        ("HEAD@{1}@nightly", RevisionSide(rev="HEAD@{1}", environment="nightly")),
        ("pkg@1.2", RevisionSide(rev="pkg@1.2", environment=None)),
        ("pkg@1.2@1.2", RevisionSide(rev="pkg@1.2", environment="1.2")),
        ("env:pkg@1.2", RevisionSide(rev="pkg", environment="1.2")),
        ("env:nightly", RevisionSide(rev=None, environment="nightly")),
        ("env:@nightly", RevisionSide(rev=None, environment="nightly")),
        ("git:both", RevisionSide(rev="both", environment=None)),
        ("git:abcdef12", RevisionSide(rev="abcdef12", environment=None)),
        ("00000001", RevisionSide(rev="00000001", environment=None)),
        ("00000002", StoredSide(run="00000002")),
        ("run:abcdef12", StoredSide(run="abcdef12")),
        ("runs/x", StoredSide(folder="runs/x")),
        ("file:both", StoredSide(folder="both")),
        ("file:-x", StoredSide(folder="-x")),
    ],
)
def test_readings(text: str, side: Side) -> None:
    assert parse(text) == side


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "a side is empty; name a revision, a stored run or its folder"),
        ("HE\x1bAD", "'HE\\x1bAD' holds control characters; no side is called that"),
        ("main\n", "'main\\n' holds control characters; no side is called that"),
        ("git:main\n", "'git:main\\n' holds control characters; no side is called that"),
        ("--output=x", "'--output=x' starts with '-'; no side is called that"),
        ("-x", "'-x' starts with '-'; no side is called that"),
        ("git:--output=x", "'--output=x' starts with '-'; no side is called that"),
        ("env:-x@nightly", "'-x' starts with '-'; no side is called that"),
        ("abcdef12", "'abcdef12' can mean git:abcdef12 or run:abcdef12; write the one that is meant"),
        ("both", "'both' can mean git:both or file:both; write the one that is meant"),
        (
            "HEAD@nightly",
            "'HEAD@nightly' can mean env:HEAD@nightly or file:HEAD@nightly; write the one that is meant",
        ),
        (
            "HEAD@nightl",
            "unknown environment 'nightl'; did you mean 'nightly'? (configs/project.yaml names them)",
        ),
        (
            "@zz",
            "unknown environment 'zz'; known: 1.2, nightly, stable (configs/project.yaml names them)",
        ),
        (
            "env:zz",
            "unknown environment 'zz'; known: 1.2, nightly, stable (configs/project.yaml names them)",
        ),
        ("mian@nightly", "unknown revision 'mian' in 'mian@nightly'"),
        ("env:mian@nightly", "unknown revision 'mian'"),
        ("git:mian", "unknown revision 'mian'"),
        ("git:", "unknown revision ''"),
        ("mian", "'mian' is no git revision, no stored run and no folder of one"),
        ("a@b", "'a@b' is no git revision, no stored run and no folder of one"),
        ("HEAD@{99}", "'HEAD@{99}' is no git revision, no stored run and no folder of one"),
        ("12345678", "'12345678' is no git revision, no stored run and no folder of one"),
        ("run:12345678", "no stored run '12345678'"),
        ("run:../../x", "no stored run '../../x'"),
        ("file:nowhere", "'nowhere' is not the folder of a run"),
        ("baseline", "'baseline' is not supported yet; name a revision or a stored run "
         "(git:baseline is a branch of that name)"),
        ("baseline:x", "'baseline' is not supported yet; name a revision or a stored run "
         "(git:baseline is a branch of that name)"),
        ("WORKTREE@nightly", "'WORKTREE' is not supported yet; name a revision or a stored run "
         "(git:WORKTREE is a branch of that name)"),
        ("nccl-tests:log.txt", "'nccl-tests:log.txt': FORMAT:PATH is not supported yet; "
         "name a revision or a stored run"),
    ],
)  # fmt: skip
def test_refusals(text: str, line: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse(text)
    assert str(refused.value) == line


@given(st.text(alphabet=st.sampled_from("gitenvru:@-HAD1.2bo{}\n\x1b "), max_size=14))
def test_any_text_is_read_or_refused_in_one_short_line(text: str) -> None:
    try:
        assert isinstance(parse(text), RevisionSide | StoredSide)
    except RequestError as refused:
        line = str(refused)
        assert line.isprintable()
        assert len(line) < 300
