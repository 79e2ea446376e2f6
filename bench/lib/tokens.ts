/** Returns a token that contains its creation time, by the clock of all processes of a machine. */
export function stamp(): string {
  return `${nowTicks()
    .toString(36)
    .padStart(TOKEN_UNITS - 1, '0')} `;
}

/** UTF-16 units of each token. */
export const TOKEN_UNITS = 10;

/** Returns the age of each token in a text, in milliseconds. */
export function agesOf(text: string): number[] {
  const now = nowTicks();
  const ages: number[] = [];
  for (let at = 0; at < text.length; at += TOKEN_UNITS) {
    ages.push((now - Number.parseInt(text.slice(at, at + TOKEN_UNITS - 1), 36)) / TICKS_PER_MS);
  }
  return ages;
}

/**
 * Returns a function that draws independent times between tokens with this mean, the same for the
 * same seed.
 */
export function exponential(mean: number, seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return -mean * Math.log((state + 1) / 2 ** 32);
  };
}

const TICKS_PER_MS = 100;

function nowTicks(): number {
  return Number(process.hrtime.bigint() / 10_000n);
}
