import chromium from '@sparticuz/chromium';

// Unpacked once: suites that start side by side would execute what another one still writes.
await chromium.executablePath();
