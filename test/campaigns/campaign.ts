import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';

/** The seed decides chance: the same seed draws the same acts and faults. */
export interface Seeded {
  readonly seed: number;
}

/** The findings of a campaign, beside its own figures. */
export interface Found {
  /** Empty if everything held. */
  readonly problems: readonly string[];
}

/** The figures with the fields of every report. */
type Report<Figures extends Found> = Figures & Seeded & { readonly seconds: number };

export interface Campaign<Options extends Seeded, Figures extends Found> {
  /** Runs it with these options; a short run serves as a test. */
  (t: Teardown, options: Options): Promise<Report<Figures>>;
  /** Runs it for minutes, as `npm run campaign` does, with the word after its name. */
  readonly whole: (t: Teardown, seed: number, word?: string) => Promise<Report<Figures>>;
  /** The words that may follow its name; an empty word stands for none. */
  readonly words: readonly string[];
}

/**
 * Returns a campaign for export: run.ts finds it by the name of its file. `whole` returns the
 * options of a whole run, `run` runs it once.
 */
export function campaign<Options extends Seeded, Figures extends Found>({
  words = [''],
  whole,
  run,
}: {
  readonly words?: readonly string[];
  readonly whole: (seed: number, word: string) => Omit<Options, 'seed'>;
  readonly run: (t: Teardown, options: Options, random: Random) => Promise<Figures>;
}): Campaign<Options, Figures> {
  const report = async (t: Teardown, options: Options) => {
    const { seed } = options;
    const startedAt = performance.now();
    const figures = await run(t, options, new Random(seed));
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const problems = figures.problems.slice(0, MOST_PROBLEMS);
    // Problems come first, since the summary of a verdict cuts a failure's line.
    return Object.assign({ problems }, figures, { seed, seconds, problems });
  };
  return Object.assign(report, {
    words,
    whole: (t: Teardown, seed: number, word = '') => report(t, { ...whole(seed, word), seed } as Options),
  });
}

/** The first problems tell what is wrong. */
const MOST_PROBLEMS = 50;
