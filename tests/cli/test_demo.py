"""The demonstration, at a hundredth of its size."""

from trigpoint._cli.cli import main


def test_demo_prints_a_screen_and_draws_a_picture(tmp_path, capsys):
    arguments = ["--points", "10000", "--landmarks", "200", "--out", str(tmp_path / "out")]
    assert main(["demo", *arguments]) == 0
    printed = capsys.readouterr().out
    for word in ("landmarks", "embedding", "extension", "R2", "swiss_roll.png"):
        assert word in printed
    assert len(printed.splitlines()) <= 24
    picture = (tmp_path / "out" / "swiss_roll.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
