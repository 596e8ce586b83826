"""The browser of the tests leaves nothing behind that would break the tests after it."""

import asyncio

import pytest


@pytest.mark.browser
def test_a_browser_is_started_again_and_leaves_no_event_loop(chromium):
    for _ in range(2):
        with chromium() as browser:
            assert browser.is_connected()
        asyncio.run(asyncio.sleep(0))
