/** The longest wait for a frame, in milliseconds: a page that is hidden has none. */
const HIDDEN_MS = 1_000;
/** The wait where the platform has no frames. */
const FRAME_MS = 16;

/** Typed without the types of browsers, which the server's sources do not have. */
const FRAMES = globalThis as {
  readonly requestAnimationFrame?: (run: () => void) => number;
  readonly cancelAnimationFrame?: (frame: number) => void;
};

const waiting = new Set<() => void>();
let stop: (() => void) | undefined;

/**
 * Calls `work` with the next frame, once however often it is asked for until then, together with
 * all other work of that frame: React then renders it in one pass.
 */
export function withNextFrame(work: () => void): void {
  waiting.add(work);
  stop ??= schedule();
}

/** Takes back work that has not been called. */
export function notWithNextFrame(work: () => void): void {
  waiting.delete(work);
}

function schedule(): () => void {
  const frame = FRAMES.requestAnimationFrame?.(run);
  const timer = setTimeout(run, frame === undefined ? FRAME_MS : HIDDEN_MS);
  return () => {
    clearTimeout(timer);
    if (frame !== undefined) FRAMES.cancelAnimationFrame?.(frame);
  };
}

function run(): void {
  stop?.();
  stop = undefined;
  const due = [...waiting];
  waiting.clear();
  for (const work of due) work();
}
