"""What BASE and HEAD may be: git's own syntax first, never two meanings, never an option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.errors import RequestError
from regress.spec.side import BaselineSide, CodeSide, Side, StoredSide, Surroundings, parse_side

REVISIONS = {"HEAD", "main", "HEAD@{1}", "pkg@1.2", "pkg", "@", "abcdef12", "00000001", "both", "git-like"}
ENVIRONMENTS = ("nightly", "stable", "1.2")
RUNS = {"abcdef12", "00000002"}
PATHS = {"both", "runs/x", "HEAD@nightly", "-x"}


def parse(text: str) -> Side:
    def is_revision(rev: str) -> bool:
        assert rev, "git is not asked about nothing"
        assert not rev.startswith("-"), "git would read an option"
        assert rev.isprintable()
        return rev in REVISIONS

    known = Surroundings(
        is_revision=is_revision,
        environments=ENVIRONMENTS,
        run_exists=RUNS.__contains__,
        path_exists=PATHS.__contains__,
    )
    return parse_side(text, known)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("HEAD", CodeSide(rev="HEAD", environment=None)),
        ("main@nightly", CodeSide(rev="main", environment="nightly")),
        ("@stable", CodeSide(rev=None, environment="stable")),
        ("@", CodeSide(rev="@", environment=None)),
        ("HEAD@{1}", CodeSide(rev="HEAD@{1}", environment=None)),
        ("HEAD@{1}@nightly", CodeSide(rev="HEAD@{1}", environment="nightly")),
        ("pkg@1.2", CodeSide(rev="pkg@1.2", environment=None)),
        ("pkg@1.2@1.2", CodeSide(rev="pkg@1.2", environment="1.2")),
        ("env:pkg@1.2", CodeSide(rev="pkg", environment="1.2")),
        ("env:nightly", CodeSide(rev=None, environment="nightly")),
        ("env:@nightly", CodeSide(rev=None, environment="nightly")),
        ("git:both", CodeSide(rev="both", environment=None)),
        ("git:abcdef12", CodeSide(rev="abcdef12", environment=None)),
        ("00000001", CodeSide(rev="00000001", environment=None)),
        ("00000002", StoredSide(run="00000002")),
        ("run:abcdef12", StoredSide(run="abcdef12")),
        ("runs/x", StoredSide(path="runs/x")),
        ("file:both", StoredSide(path="both")),
        ("file:-x", StoredSide(path="-x")),
        ("WORKTREE", CodeSide(rev=None, worktree=True, environment=None)),
        ("WORKTREE:", CodeSide(rev=None, worktree=True, environment=None)),
        ("WORKTREE@nightly", CodeSide(rev=None, worktree=True, environment="nightly")),
        ("WORKTREE:@nightly", CodeSide(rev=None, worktree=True, environment="nightly")),
        ("baseline", BaselineSide()),
        ("baseline:", BaselineSide()),
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
        ("mian", "'mian' is no git revision, no stored run and no path of one "
         "(`regress list` names the runs)"),
        ("a@b", "'a@b' is no git revision, no stored run and no path of one "
         "(`regress list` names the runs)"),
        ("HEAD@{99}", "'HEAD@{99}' is no git revision, no stored run and no path of one "
         "(`regress list` names the runs)"),
        ("12345678", "'12345678' is no git revision, no stored run and no path of one "
         "(`regress list` names the runs)"),
        ("run:12345678", "no stored run '12345678'; `regress list` names those there are"),
        ("run:../../x", "no stored run '../../x'; `regress list` names those there are"),
        ("file:nowhere", "'nowhere' is neither the folder of a run nor a launch file in one"),
        ("baseline:x", "'x' after baseline: means nothing; write baseline:, and name the suite with --suite"),
        ("baseline@nightly", "'baseline@nightly': a baseline is measured where head is; write 'baseline'"),
        ("WORKTREE:x", "'x' after WORKTREE: means nothing; write WORKTREE:@ENVIRONMENT"),
        ("WORKTREE:@zz",
         "unknown environment 'zz'; known: 1.2, nightly, stable (configs/project.yaml names them)"),
        ("WORKTREE@zz",
         "unknown environment 'zz'; known: 1.2, nightly, stable (configs/project.yaml names them)"),
        ("nccl-tests:log.txt",
         "'nccl-tests:log.txt': files of other tools (FORMAT:PATH, CSV) are not supported "
         "yet; name a revision or a stored run"),
        ("values.csv", "'values.csv': files of other tools (FORMAT:PATH, CSV) are not supported "
         "yet; name a revision or a stored run"),
    ],
)  # fmt: skip
def test_refusals(text: str, line: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse(text)
    assert str(refused.value) == line


@pytest.mark.parametrize(
    ("text", "forced"),
    [
        ("WORKTREE", "git:WORKTREE or WORKTREE:"),
        ("WORKTREE@nightly", "env:WORKTREE@nightly or WORKTREE:@nightly"),
        ("baseline", "git:baseline or baseline:"),
    ],
)
def test_a_branch_of_a_word_of_ours_has_to_be_told_apart(
    monkeypatch: pytest.MonkeyPatch, text: str, forced: str
) -> None:
    monkeypatch.setattr(f"{__name__}.REVISIONS", {"WORKTREE", "baseline"})
    with pytest.raises(RequestError) as refused:
        parse(text)
    assert str(refused.value) == f"{text!r} can mean {forced}; write the one that is meant"
    for each in forced.split(" or "):
        assert parse(each).text == text


@given(st.text(alphabet=st.sampled_from("gitenvru:@-HAD1.2bo{}\n\x1b "), max_size=14))
def test_any_text_is_read_or_refused_in_one_short_line(text: str) -> None:
    try:
        assert isinstance(parse(text), CodeSide | BaselineSide | StoredSide)
    except RequestError as refused:
        line = str(refused)
        assert line.isprintable()
        assert len(line) < 300
