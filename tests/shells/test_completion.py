"""Tests completion in bash, zsh and fish, each on a pseudoterminal.

WAFER names the binary. `make test` installs the shells; without one its tests fail.
"""

import os
import pty
import re
import select
import tempfile
import time
import unittest
from pathlib import Path

WAFER = Path(os.environ["WAFER"]).absolute()
SECONDS = 30

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(wafer completions bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u; source <(wafer completions zsh)"),
    "fish": (["fish", "--no-config", "-i"], "wafer completions fish | source"),
}
KILL_LINE, LINE_START, LINE_END = "\x15", "\x01", "\x05"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()=>].?|\r")


class Shell:
    """An interactive shell on a pseudoterminal."""

    def __init__(self, name: str, home: str) -> None:
        argv, setup = SHELLS[name]
        path = f"{WAFER.parent}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": home, "TERM": "xterm", "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(argv[0], argv, env)
        self.send(f"{setup}; echo rea''dy\r", "ready")

    def send(self, keys: str, *wanted: str) -> None:
        """Types keys, and waits until all wanted texts have been printed."""
        os.write(self.fd, keys.encode())
        out, end = "", time.monotonic() + SECONDS
        while not all(text in out for text in wanted):
            if time.monotonic() > end:
                raise AssertionError(f"{wanted} is not in {out}")
            if select.select([self.fd], [], [], 0.2)[0]:
                out += ESCAPES.sub("", os.read(self.fd, 65536).decode(errors="replace"))

    def becomes(self, typed: str, *words: str) -> None:
        """Checks that a tab and an x turn a line into these words."""
        print_words = f"{LINE_START}printf '<%s>' {LINE_END}; echo\r"
        self.send(f"{KILL_LINE}{typed}\tx{print_words}", "".join(f"<{word}>" for word in words))

    def lists(self, typed: str, *candidates: str) -> None:
        """Checks that tabs show these candidates."""
        self.send(f"{KILL_LINE}{typed}\t\t\t", *candidates)

    def close(self) -> None:
        """Closes the terminal and waits for the shell to end."""
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    """Completion after a tab."""

    def test_names_keys_and_values(self) -> None:
        """Commands, devices, models and policies; keys of `--set`, and their values."""
        for name in SHELLS:
            with self.subTest(name), tempfile.TemporaryDirectory() as home:
                shell = Shell(name, home)
                shell.becomes("wafer compar", "wafer", "compare", "x")
                shell.becomes("wafer compare cost-b", "wafer", "compare", "cost-benefit", "x")
                shell.becomes("wafer run --device pm9a", "wafer", "run", "--device", "pm9a3", "x")
                shell.becomes("wafer models aero", "wafer", "models", "aerospike", "x")
                set_key = ("wafer", "run", "--set")
                shell.becomes("wafer run --set gc.pol", *set_key, "gc.policy=x")
                shell.becomes("wafer run --set gc.policy=cost-b", *set_key, "gc.policy=cost-benefit", "x")
                shell.becomes("wafer run --set isolation=p", *set_key, "isolation=persistently", "x")
                shell.lists("wafer run --set gc.policy=", "greedy", "cost-benefit", "adaptive")
                shell.lists("wafer run --device wa", "warp-pi")
                shell.lists("wafer ", "run", "serve", "explain")
                shell.close()


if __name__ == "__main__":
    unittest.main()
