// Measures the page of a large cluster: `node measure.mjs LINK` prints figures as JSON.
import { readdirSync, readFileSync } from "node:fs";
import { openBrowser } from "./browser.mjs";

// Memory of the processes that render the page, in MB: what they have for themselves, and their share of the rest.
function measureRenderers(profile) {
  const lines = [];
  for (const pid of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!command.includes("--type=renderer") || !command.includes(profile)) continue;
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
      lines.push({ privateMB: sum(rollup, "Private_Dirty"), shareMB: sum(rollup, "Pss") });
    } catch {
      // The process has ended.
    }
  }
  return lines;
}

function sum(rollup, name) {
  return Math.round(Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(rollup)[1]) / 1024);
}

const { context, page, profile } = await openBrowser();
await page.addInitScript(() => {
  const observer = new MutationObserver(() => {
    if (!document.querySelector(".node .pod")) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => (globalThis.firstPicture = performance.now())));
  });
  observer.observe(document, { childList: true, subtree: true });
});
await page.goto(process.argv[2]);
await page.waitForFunction(() => globalThis.firstPicture);
const cold = await page.evaluate(() => globalThis.firstPicture);
const warm = [];
const parts = [];
for (let round = 0; round < 5; round++) {
  await page.reload();
  await page.waitForFunction(() => globalThis.firstPicture);
  warm.push(await page.evaluate(() => globalThis.firstPicture));
  parts.push(
    await page.evaluate(() =>
      Object.fromEntries(
        performance.getEntriesByType("resource").map((one) => [one.name.split("/").pop(), [one.startTime, one.responseStart].map(Math.round)]),
      ),
    ),
  );
}
await page.waitForFunction(() => !document.querySelector("#scrub").disabled);

// Scrolls an element for some seconds, and returns frames per second and the longest time between two frames.
async function scroll(selector) {
  return page.evaluate(
    (selector) =>
      new Promise((resolve) => {
        const element = document.querySelector(selector);
        const times = [];
        const begin = performance.now();
        const step = (now) => {
          times.push(now);
          element.scrollTop += 40;
          if (element.scrollTop + element.clientHeight >= element.scrollHeight - 1) element.scrollTop = 0;
          if (now - begin < 3000) requestAnimationFrame(step);
          else {
            const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
            resolve({
              fps: Math.round(((times.length - 1) / (times[times.length - 1] - times[0])) * 1000),
              p95: Math.round(gaps[Math.floor(gaps.length * 0.95)]),
              longest: Math.round(gaps[gaps.length - 1]),
            });
          }
        };
        requestAnimationFrame(step);
      }),
    selector,
  );
}

const map = [];
for (let round = 0; round < 3; round++) map.push(await scroll(".node-grid"));
await page.click("a[href='#timeline']");
await page.waitForSelector(".lane .span");
const timeline = [];
for (let round = 0; round < 3; round++) timeline.push(await scroll(".lanes"));
const session = await context.newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
await session.send("Performance.enable");
const metrics = Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
const heapMB = Math.round(metrics.JSHeapUsedSize / 1e6);
console.log(JSON.stringify({ coldMs: Math.round(cold), warmMs: warm.map(Math.round), parts: parts[parts.length - 1], map, timeline, heapMB, domNodes: metrics.Nodes, renderers: measureRenderers(profile) }));
await context.close();
