/** How to take the pictures of the documentation. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Context, Page } from "../test/browser/browser.testing.ts";

const IMAGES = fileURLToPath(new URL("../docs/images", import.meta.url));
/** WebP quality, up to 100: words stay sharp. */
const QUALITY = 58;

/** Writes a part of a page as a picture with that name. @returns its size in bytes. */
export async function takePicture(context: Context, page: Page, file: string, clip: object): Promise<number> {
  const session = await context.newCDPSession(page);
  const picture = await session.send("Page.captureScreenshot", {
    format: "webp",
    quality: QUALITY,
    captureBeyondViewport: true,
    clip,
  });
  const bytes = Buffer.from(picture.data, "base64");
  writeFileSync(join(IMAGES, `${file}.webp`), bytes);
  return bytes.length;
}

/** Prints the total size of the pictures. @throws if it exceeds `most`, because a clone includes them. */
export function reportSizes(sizes: readonly number[], most: number): void {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > most) throw new Error(`the pictures have ${bytes} bytes; at most ${most} are wanted`);
  process.stdout.write(`${sizes.length} pictures in ${IMAGES}, ${bytes} bytes\n`);
}

/** The smallest rectangle of the page that contains two elements, with a margin. */
export async function boundingBox(
  page: Page,
  elements: readonly [first: string, last: string],
  margin: number,
): Promise<object> {
  const boxes = await page.evaluate<{ top: number; bottom: number; left: number; right: number }[]>(
    `${JSON.stringify(elements)}.map((selector) => {
      const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
      return { top: top + scrollY, bottom: bottom + scrollY, left, right };
    })`,
  );
  const [x, y] = [Math.min(...boxes.map(({ left }) => left)), Math.min(...boxes.map(({ top }) => top))];
  const width = Math.max(...boxes.map(({ right }) => right)) - x;
  const height = Math.max(...boxes.map(({ bottom }) => bottom)) - y;
  return {
    x: x - margin,
    y: y - margin,
    width: width + 2 * margin,
    height: height + 2 * margin,
    scale: 1,
  };
}
