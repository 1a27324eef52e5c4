"""Tests of scripts/check-docs and scripts/cli-pages: `python3 -m unittest discover tests/docs`."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "page.md"
        # Stands in for the binary: prints its arguments.
        self.wafer = self.folder / "wafer"
        self.wafer.write_text('#!/bin/sh\necho "ran $*"\n')
        self.wafer.chmod(0o755)

    def check(self, part, text, **files):
        self.page.write_text(text)
        for name, content in files.items():
            (self.folder / f"{name}.md").write_text(content)
        return subprocess.run(
            [ROOT / "scripts/check-docs", part, self.page],
            env={**os.environ, "WAFER": str(self.wafer), "PYTHON": sys.executable},
            capture_output=True,
            text=True,
        )

    def passes(self, part, text, **files):
        done = self.check(part, text, **files)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def fails(self, part, text, *expected, **files):
        done = self.check(part, text, **files)
        self.assertEqual(done.returncode, 1, done.stderr)
        for words in expected:
            self.assertIn(words, done.stderr)

    # Links

    def test_links_that_exist(self):
        text = "# A *b*, `c`\n[x](other.md#two-words) [y](#a-b-c) ![z](other.md) [w](https://example.org)\n"
        self.passes("links", text + "`[n](nowhere.md)`\n", other="# Title\n## Two words\n")

    def test_missing_file(self):
        self.fails("links", "[x](nowhere.md)\n", "no such file: nowhere.md")
        self.fails("links", '<img src="nowhere.png">\n', "no such file: nowhere.png")
        self.fails("links", "[x]: nowhere.md\n", "no such file: nowhere.md")

    def test_missing_anchor(self):
        self.fails("links", "[x](other.md#three)\n", "no such anchor: other.md#three", other="# Two\n")
        # A heading in a code block does not count.
        self.fails("links", "[x](#two)\n```sh\n# two\n```\n", "no such anchor: #two")

    def test_missing_page_of_a_toctree(self):
        self.fails(
            "links", "```{toctree}\n:hidden:\n\nother\nnowhere\n```\n", "no such page: nowhere", other=""
        )

    def test_missing_source_path(self):
        self.passes(
            "links",
            "`scripts/check-docs` and `configs/devices/*.toml` and `configs/experiments/STUDY/x.toml`\n",
        )
        self.fails("links", "`scripts/nowhere`\n", "no such path in the repository: scripts/nowhere")

    # Commands

    def test_blocks_run_in_order_in_one_folder(self):
        text = (
            "<!-- file: a/job.fio -->\n```ini\n[job]\n```\n"
            "<!-- setup sh\necho hidden > setup.txt\n-->\n"
            "```sh\nwafer run >out.txt\ntarget/release/wafer again >>out.txt\ngrep -q job a/job.fio\n```\n"
            "```python\nlines = open('out.txt').read().split('\\n')\n```\n"
            "```python\nassert lines[:2] == ['ran run', 'ran again']\n"
            "assert open('setup.txt').read() == 'hidden\\n'\n```\n"
        )
        self.assertIn("4 blocks of 1 pages", self.passes("commands", text))

    def test_failing_sh_block(self):
        self.fails(
            "commands",
            "text\n\n```sh\nfalse\ntrue\n```\n",
            "page.md:3: this `sh` block failed",
            "exit status 1",
        )

    def test_failing_python_block_names_the_line(self):
        self.fails(
            "commands",
            "text\n\n```python\n\n1 / 0\n```\n",
            "page.md:3: this `python` block",
            "line 5",
            "ZeroDivisionError",
        )

    def test_console_output(self):
        good = (
            "```console\n$ printf 'one 1\\ntwo\\nthree\\n'\none [..]\n...\nthree\n"
            "$ wafer \\\n    x\nran x\n```\n"
        )
        self.passes("commands", good)
        self.fails("commands", good.replace("three\n$", "four\n$"), "expected:", "printed:")
        self.fails("commands", good.replace("ran x", ""), "printed:\nran x")

    def test_marks(self):
        self.passes("commands", "<!-- not run: needs root -->\n```sh\nfalse\n```\n```sh\ntrue\n```\n")
        self.fails("commands", "<!-- not run: -->\n```sh\nfalse\n```\n```sh\ntrue\n```\n", "without a reason")
        self.fails("commands", "<!-- not run: why -->\n```toml\na = 1\n```\n```sh\ntrue\n```\n", "never runs")
        # A mark applies only to the block directly after it.
        self.fails("commands", "<!-- not run: needs root -->\ntext\n```sh\nfalse\n```\n", "exit status 1")

    def test_other_names_of_languages(self):
        self.fails("commands", "```bash\ntrue\n```\n", "language `bash`; use `sh`")

    def test_nothing_ran(self):
        self.fails("commands", "# No blocks\n", "no block ran")

    def test_no_binary(self):
        self.wafer.unlink()
        self.fails("commands", "```sh\ntrue\n```\n", "no `wafer` binary")


class CliPages(unittest.TestCase):
    def test_pages_differ_from_another_binary(self):
        with tempfile.TemporaryDirectory() as folder:
            wafer = Path(folder) / "wafer"
            wafer.write_text(
                "#!/bin/sh\ncase $1 in\n"
                "--help) printf 'A lab\\n\\nUsage: wafer\\n\\nCommands:\\n  run  Run it\\n';;\n"
                "*) printf 'Run it\\n\\nUsage: wafer run\\n\\nOptions:\\n  -h, --help  Help\\n';;\nesac\n"
            )
            wafer.chmod(0o755)
            done = subprocess.run(
                [ROOT / "scripts/cli-pages", "--check"],
                env={**os.environ, "WAFER": str(wafer)},
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("docs/reference/cli/run.md differs", done.stderr)
        self.assertIn("docs/reference/cli/serve.md differs", done.stderr)


if __name__ == "__main__":
    unittest.main()
