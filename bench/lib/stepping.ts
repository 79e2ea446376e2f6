/** The results of one step of a growing load. */
export interface Step {
  readonly ratePerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Sends that were not answered with 201, or not in time. */
  readonly failed: number;
}

export interface SteppingOptions {
  readonly startRate: number;
  /** The greatest p99 allowed. */
  readonly limitMs: number;
  readonly mostRate: number;
}

/** Returns whether a step is good: everything answered, and the p99 within the limit. */
export function isWithin({ p99Ms, failed }: Step, { limitMs }: SteppingOptions): boolean {
  return failed === 0 && p99Ms <= limitMs;
}

/**
 * Returns the next rate: twice the last one until the limit breaks, then between the best and worst
 * known rates, until they are within a tenth of each other. A rate that broke the limit is tried
 * once more, since the machine may have been busy. Undefined: the answer is known.
 */
export function nextRate(steps: readonly Step[], options: SteppingOptions): number | undefined {
  const { startRate, mostRate } = options;
  const last = steps.at(-1);
  if (last === undefined) return startRate;
  const breaks = steps.filter((step) => isBreakOf(last, step, options)).length;
  if (!isWithin(last, options) && breaks === 1) return last.ratePerSecond;
  const good = best(steps, options)?.ratePerSecond ?? 0;
  const bad = broken(steps, options)?.ratePerSecond;
  if (bad === undefined) return good >= mostRate ? undefined : Math.min(good * 2, mostRate);
  if (bad <= 1 || bad - good <= bad * CLOSE) return undefined;
  return Math.round((good + bad) / 2);
}

const CLOSE = 0.1;

/** Returns the good step of the highest rate below any broken one. */
function best(steps: readonly Step[], options: SteppingOptions): Step | undefined {
  const bad = broken(steps, options)?.ratePerSecond ?? Number.POSITIVE_INFINITY;
  return steps
    .filter((step) => isWithin(step, options) && step.ratePerSecond < bad)
    .toSorted((a, b) => b.ratePerSecond - a.ratePerSecond)[0];
}

/** Returns the last step of the lowest rate that broke the limit twice. */
function broken(steps: readonly Step[], options: SteppingOptions): Step | undefined {
  return steps
    .filter((step, index) => steps.slice(0, index).some((earlier) => isBreakOf(step, earlier, options)))
    .filter((step) => !isWithin(step, options))
    .toSorted((a, b) => a.ratePerSecond - b.ratePerSecond)[0];
}

/** Returns whether a step broke the limit at the rate of another. */
function isBreakOf(other: Step, step: Step, options: SteppingOptions): boolean {
  return step.ratePerSecond === other.ratePerSecond && !isWithin(step, options);
}

/** Returns the sentence that the run ends with. */
export function conclusion(baseUrl: string, steps: readonly Step[], options: SteppingOptions): string {
  const { limitMs } = options;
  const good = best(steps, options);
  const bad = broken(steps, options);
  const because =
    bad === undefined
      ? 'the load was not raised further'
      : bad.failed > 0
        ? `at ${rate(bad)}, ${bad.failed} sends failed`
        : `at ${rate(bad)} it was ${ms(bad.p99Ms)}`;
  if (good === undefined) {
    return `${baseUrl} did not keep a p99 of ${limitMs} ms at any rate that was tried: ${because}.`;
  }
  return `${baseUrl} takes ${rate(good)} with a p99 of ${ms(good.p99Ms)} (median ${ms(good.p50Ms)}), within the limit of ${limitMs} ms; ${because}.`;
}

function rate({ ratePerSecond }: Step): string {
  return `${ratePerSecond.toLocaleString('en-US')} sends a second`;
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}
