import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';

// What a GPU does on other machines takes most of the processor here, and the page has nothing that needs one.
chromium.setGraphicsMode = false;

/** The package's own arguments for a machine without a display, except those that switch the rules for origins off. */
const args = chromium.args.filter(
  (arg) => !/^--(?:disable-web-security|allow-running-insecure-content)$/.test(arg),
);

/** Starts Chromium. It is a single process, and ends when a page is closed. */
export async function startBrowser() {
  return playwright.launch({ executablePath: await chromium.executablePath(), args });
}
