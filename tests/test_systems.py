"""Windows and macOS: what some systems lack is used only where it is there."""

import re
from pathlib import Path

import c3clust

PACKAGE = Path(c3clust.__file__).parent
NOT_ON_WINDOWS = (
    "chown", "fchmod", "fchown", "fork", "getgid", "getpgid", "getuid", "killpg", "lchown", "mkfifo", "nice", "pread",
    "pwrite", "sched_getaffinity", "sched_setaffinity", "setsid", "statvfs", "sysconf", "sysconf_names", "uname",
    "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2",
)  # fmt: skip
NOT_ON_MACOS = ("posix_fadvise", "sched_getaffinity", "sched_setaffinity")
MODULES = re.compile(r"^\s*(?:import|from) (fcntl|grp|pwd|resource|termios)\b", re.MULTILINE)
USED = re.compile(rf"\b(?:os|signal)\.({'|'.join({*NOT_ON_WINDOWS, *NOT_ON_MACOS})})\b")


def used_without_asking(text):
    """The names of a module that Windows or macOS may lack, and that it uses without `hasattr`."""
    asked = set(re.findall(r'hasattr\((?:os|signal), "(\w+)"\)', text))
    asked |= {"sysconf_names"} & {f"{name}_names" for name in asked}
    return {*USED.findall(text), *MODULES.findall(text)} - asked


def test_what_a_system_may_lack_is_asked_for_first():
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {path: names for path, text in texts.items() if (names := used_without_asking(text))}
    assert not found
    assert used_without_asking("import fcntl\nos.pread(1, 2, 3)") == {"fcntl", "pread"}
