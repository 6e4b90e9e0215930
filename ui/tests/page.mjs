// Uses the page as people do: `node page.mjs CASE LINK [FOLDER [EXPECTED]]` prints what it has seen as JSON.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { openBrowser } from "./browser.mjs";

const [, , name, link, folder, expected] = process.argv;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function openPage(options) {
  const { context, page } = await openBrowser(options);
  const problems = [];
  const requests = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(link);
  await page.waitForSelector(".node");
  await page.waitForFunction(() => !document.querySelector("#scrub").disabled);
  return { context, page, problems, requests };
}

async function check(page, view, found) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of violations) found.push(`${view}: ${one.id}: ${one.nodes.map((node) => node.html).join(" | ").slice(0, 400)}`);
}

// Opens every view and panel, one after the other.
async function visit(page, see) {
  await see("map");
  await page.fill("#search", "solo");
  await page.waitForSelector("#found li");
  await see("search");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".why");
  await see("why");
  for (const tab of ["events", "revisions", "object"]) {
    await page.click(`#tab-${tab}`);
    await page.waitForSelector("#tab-panel pre");
    await see(tab);
  }
  await page.keyboard.press("Escape");
  await page.click("button:has-text('evicted')");
  await page.waitForSelector("dialog[open]");
  await see("list");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.click(".component >> nth=0");
  await page.waitForSelector("[role=switch]");
  await see("component");
  await page.locator("[role=switch]").first().click();
  await page.waitForSelector("dialog[open]");
  await see("action");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("Escape");
  await page.waitForSelector(".details", { state: "detached" });
  await page.click(".node >> nth=1");
  await page.waitForSelector("#add-taint");
  await see("node");
  await page.keyboard.press("Escape");
  await page.click("a[href='#timeline']");
  await page.waitForSelector(".lane .span");
  await see("timeline");
  await page.click("a[href='#explore']");
  await page.waitForSelector(".player");
  await see("explore");
  await page.click("a[href='#map']");
  await page.waitForSelector(".node");
}

// Share of the pixels of two pictures that differ visibly.
async function compare(page, one, other) {
  const [first, second] = [one, other].map((path) => `data:image/png;base64,${readFileSync(path, "base64")}`);
  return page.evaluate(
    async ([first, second]) => {
      const read = async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [a, b] = [await read(first), await read(second)];
      if (a.width !== b.width || a.height !== b.height) return 1;
      let count = 0;
      for (let index = 0; index < a.data.length; index += 4) {
        if (Math.max(...[0, 1, 2].map((channel) => Math.abs(a.data[index + channel] - b.data[index + channel]))) > 40) count++;
      }
      return count / (a.width * a.height);
    },
    [first, second],
  );
}

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };

const cases = {
  // Violations of accessibility on every view.
  async accessibility() {
    const found = [];
    const { context, page, problems } = await openPage(folder === "phone" ? PHONE : {});
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await visit(page, (view) => check(page, `${view}, ${colorScheme}`, found));
    }
    await context.close();
    return { violations: found, problems };
  },

  // Whatever leaves the page, and what stays in its address.
  async network() {
    const { context, page, problems, requests } = await openPage();
    await visit(page, async () => undefined);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    const address = page.url();
    const cookies = await page.evaluate(() => document.cookie);
    await page.reload();
    await page.waitForSelector(".node");
    await context.close();
    return { problems, origins: [...new Set(requests.map((one) => new URL(one).origin))], address, cookies, wide };
  },

  // From a name to the reason of an eviction, with the keyboard alone.
  async eviction() {
    const { context, page } = await openPage();
    const keys = ["Tab", "Tab", "Tab", "Tab", "Tab"];
    for (const key of keys) await page.keyboard.press(key);
    const focused = await page.evaluate(() => document.activeElement.id);
    await page.keyboard.type("solo");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".why");
    const text = await page.innerText("#tab-panel");
    await page.focus("#tab-why");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(".revisions");
    const revisions = await page.innerText(".revisions");
    await page.keyboard.press("Escape");
    const closed = (await page.locator(".details").count()) === 0;
    await context.close();
    return { focused, text, revisions, closed };
  },

  // Nodes with arrow keys.
  async keyboard() {
    const { context, page } = await openPage();
    await page.focus(".node[tabindex='0']");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.activeElement.dataset.index === "1");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement.dataset.index === "2");
    await page.keyboard.press("Enter");
    const title = await page.innerText(".details h2");
    await context.close();
    return { title };
  },

  // A taint is dragged to a node, a gate is flipped, a version is set, a component is restarted, the clock is moved.
  async actions() {
    const { context, page } = await openPage();
    const commands = [];
    const apply = async () => {
      await page.waitForSelector("dialog .primary");
      commands.push(await page.innerText("dialog pre"));
      await page.click("dialog .primary");
      await page.waitForSelector("dialog", { state: "detached" });
    };
    await page.fill("#new-taint", "dragged=here:NoSchedule");
    await page.dragAndDrop(".new-taint .taint", ".node >> nth=2");
    await apply();
    await page.waitForSelector(".node:has-text('dragged=here:NoSchedule')");
    await page.click(".component:has-text('kube-scheduler')");
    await page.fill("#gate-filter", "TaintTolerationComparisonOperators");
    await page.click("[role=switch]");
    await apply();
    await page.waitForSelector(".component-gates:has-text('TaintTolerationComparisonOperators=true')");
    const versions = await page.locator("#component-version option").allInnerTexts();
    await page.selectOption("#component-version", "1.37");
    await apply();
    await page.waitForSelector(".component:has-text('kube-scheduler') :text('1.37')");
    await page.click("button:has-text('Restart')");
    await apply();
    await page.fill("#clock-step", "90s");
    await page.click("button:has-text('Move the clock')");
    await apply();
    await page.click(".component:has-text('kubelet')");
    await page.selectOption("#component-version", "1.37");
    await page.waitForSelector("dialog .primary");
    await page.click("dialog .primary");
    const answer = await page.innerText("[role=status]:has-text('Warning')");
    await context.close();
    return { commands, answer, versions };
  },

  // A taint is dragged to a node with a finger, on a phone.
  async touch() {
    const { context, page } = await openPage(PHONE);
    await page.fill("#new-taint", "dragged=here:NoSchedule");
    const center = async (selector) => {
      const box = await page.locator(selector).boundingBox();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    };
    const [from, to] = [await center(".new-taint .taint"), await center("[data-index='1']")];
    const session = await context.newCDPSession(page);
    const touch = (type, points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points });
    await touch("touchStart", [from]);
    for (const part of [0.2, 0.6, 1]) await touch("touchMove", [{ x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }]);
    await page.waitForSelector(".node.drop");
    await touch("touchEnd", []);
    await page.waitForSelector("dialog .primary");
    const command = await page.innerText("dialog pre");
    const open = await page.locator(".details").count();
    await context.close();
    return { command, open };
  },

  // The bar shows the cluster as it was.
  async past() {
    const { context, page } = await openPage();
    const taints = () => page.locator(".node .taint").allInnerTexts();
    const now = await taints();
    await page.focus("#scrub");
    await page.keyboard.press("Home");
    await page.waitForSelector(".live:not(.on)");
    const first = await taints();
    const actions = await page.locator(".new-taint").count();
    await page.click(".live");
    const again = await taints();
    await context.close();
    return { now, first, again, actions };
  },

  // The player steps through a counterexample, and plays it.
  async player() {
    const { context, page } = await openPage();
    await page.click("a[href='#explore']");
    await page.waitForSelector(".player");
    await page.click("button:has-text('Step')");
    const changed = await page.locator(".settings .changed").allInnerTexts();
    await page.selectOption(".player label:has-text('Speed') select", "4");
    await page.click("button:has-text('Play')");
    await page.waitForSelector(".moves .broken");
    const text = await page.innerText(".player .box");
    const command = await page.innerText(".player .command pre");
    const orders = (await page.locator(".orders li").allTextContents()).map((one) => one.replaceAll(/(apiserver|scheduler)/g, "$1 "));
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(".player a[download]")]);
    const file = [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
    await page.focus(".cell[tabindex='0']");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement.ariaLabel?.includes("254"));
    const cell = await page.getAttribute(".cell[aria-selected='true']:focus", "aria-label");
    await page.setInputFiles("input[type=file]", { name: "atlas.json", mimeType: "application/json", buffer: Buffer.from(folder) });
    await page.waitForSelector(".answer h2:has-text('feature gates')");
    const violations = [];
    await check(page, "atlas", violations);
    await page.fill(".toolbar input", "second");
    const atlas = await page.innerText(".explore");
    await context.close();
    return { changed, text, command, cell, orders, file, atlas, violations };
  },

  // Pictures of some views in FOLDER, and how much each differs from the one with the same name in EXPECTED.
  async pictures() {
    const { context, page } = await openPage();
    const views = ["map", "why", "timeline", "explore", "component"];
    await visit(page, async (view) => {
      if (views.includes(view)) await page.screenshot({ path: `${folder}/${view}.png` });
    });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.screenshot({ path: `${folder}/map-dark.png` });
    await page.setViewportSize(PHONE.viewport);
    await page.screenshot({ path: `${folder}/map-dark-phone.png` });
    const differences = {};
    const blank = await context.newPage();
    for (const view of [...views, "map-dark", "map-dark-phone"]) {
      differences[view] = existsSync(`${expected}/${view}.png`) ? await compare(blank, `${folder}/${view}.png`, `${expected}/${view}.png`) : null;
    }
    await context.close();
    return { differences };
  },
};

console.log(JSON.stringify(await cases[name]()));
process.exit(0);
