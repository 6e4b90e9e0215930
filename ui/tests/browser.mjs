// Chromium as the tests of the page start it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--font-render-hinting=none", "--force-color-profile=srgb",
];

export async function openBrowser(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "mockkube-page-"));
  process.on("exit", () => rmSync(profile, { recursive: true, force: true, maxRetries: 3 }));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM, headless: true, args: FLAGS, viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(20_000);
  return { context, page, profile };
}
