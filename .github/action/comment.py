"""Write the report as one comment on the pull request, or update the comment that an earlier run wrote.

Environment: `GITHUB_API_URL`, `GITHUB_REPOSITORY`, `GITHUB_EVENT_PATH` and `RUNNER_TEMP` as GitHub sets them,
`GITHUB_TOKEN`, and `CHECK_CODE`, the exit code of the check. Where nothing was found, and nothing was said before,
nothing is written. What goes wrong is a warning: the check itself has its own result.

The calls are those of GitHub's REST API, "Issue comments": list, create and update.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

A_PAGE = 100  # comments that GitHub gives at once, at most
ACTIONS = "github-actions[bot]"  # whose comments those written with a job's own token are


def call(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """What GitHub answers. Raises OSError, of which `urllib.error.HTTPError` is one, and ValueError."""
    address = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/") + path
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def author() -> str:
    """Whose comments the token writes. A job's own token may not ask."""
    try:
        return str(call("GET", "/user")["login"])
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            return ACTIONS
        raise


def earlier(comments: str, mark: str) -> int | None:
    """The number of the comment that an earlier run wrote, which begins with `mark`. One that somebody else wrote is
    left alone, mark or not."""
    name, page = author(), 1
    while True:
        listed = call("GET", f"{comments}?per_page={A_PAGE}&page={page}")
        for one in listed:
            if (one.get("user") or {}).get("login") == name and str(one.get("body") or "").startswith(mark):
                return int(one["id"])
        if len(listed) < A_PAGE:
            return None
        page += 1


def write(text: str, found: bool) -> str:
    """Create or update the comment; what was done."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{issues}/{int(event['pull_request']['number'])}/comments"
    known = earlier(comments, text.partition("\n")[0])
    if known is not None:
        call("PATCH", f"{issues}/comments/{known}", {"body": text})
        return "updated"
    if not found:
        return "not needed"
    call("POST", comments, {"body": text})
    return "written"


def main() -> int:
    """Always 0: a comment that cannot be written is no reason to fail."""
    report = Path(os.environ["RUNNER_TEMP"]) / "transferlint" / "comment.md"
    try:
        done = write(report.read_text(encoding="utf-8"), os.environ.get("CHECK_CODE") != "0")
    except urllib.error.HTTPError as error:
        hint = "; pull requests of forks get a token that only reads" if error.code == 403 else ""
        print(f"::warning title=transferlint::the comment was not written: {error.code} {error.reason}{hint}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = " ".join(str(error).split())[:200]
        print(f"::warning title=transferlint::the comment was not written: {type(error).__name__}: {words}")
    else:
        print(f"comment: {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
