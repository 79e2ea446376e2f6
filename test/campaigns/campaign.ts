import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';

/** Chance follows the seed: the same one draws the same acts and faults. */
export interface Seeded {
  readonly seed: number;
}

/** What a campaign finds out, beside its own figures. */
export interface Found {
  /** Empty: everything held. */
  readonly problems: readonly string[];
}

/** The figures with what each report has. */
type Report<Figures extends Found> = Figures & Seeded & { readonly seconds: number };

export interface Campaign<Options extends Seeded, Figures extends Found> {
  /** Runs it with these options: a short run is a test. */
  (t: Teardown, options: Options): Promise<Report<Figures>>;
  /** Runs it as `npm run campaign` does, for minutes, with the word that stands behind its name. */
  readonly whole: (t: Teardown, seed: number, word?: string) => Promise<Report<Figures>>;
  /** The words, one of which stands behind its name; an empty one stands for none. */
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
    return { ...figures, seed, seconds, problems: figures.problems.slice(0, MOST_PROBLEMS) };
  };
  return Object.assign(report, {
    words,
    whole: (t: Teardown, seed: number, word = '') => report(t, { ...whole(seed, word), seed } as Options),
  });
}

/** The first ones tell what is wrong. */
const MOST_PROBLEMS = 50;
