import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Campaign, Found, Seeded } from './campaign.ts';

/**
 * `npm run campaign -- <name> [word] [--seed N]` runs a whole campaign. Prints its figures and
 * writes them to .data/campaigns/<name>-<seed>.json (with a word, to
 * <name>-<word>-<seed>.json); exits 1 when something did not hold. The files beside this one that
 * export a `campaign({...})` are the campaigns.
 */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: 'string', default: '1' } },
  });
  const [name = '', ...words] = positionals;
  const names = campaignNames();
  if (!names.includes(name)) refuse(`<${names.join('|')}>`);
  const exported: Record<string, unknown> = await import(`./${name}.ts`);
  const [found] = Object.values(exported).filter(isCampaign);
  const [word = '', ...more] = words;
  if (more.length > 0 || !found!.words.includes(word)) refuse(`${name}${shown(found!.words)}`);
  const releases: (() => void | Promise<void>)[] = [];
  const seed = Number(values.seed);
  try {
    const figures = await found!.whole({ teardown: (release) => void releases.push(release) }, seed, word);
    const directory = join(import.meta.dirname, '../../.data/campaigns');
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, `${positionals.join('-')}-${seed}.json`),
      `${JSON.stringify(figures, null, 2)}\n`,
    );
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    if (figures.problems.length > 0) process.exitCode = 1;
  } finally {
    for (const release of releases.reverse()) await release();
  }
}

/** Returns the words of a campaign for its usage. */
function shown(words: readonly string[]): string {
  const [names, isOptional] = [words.filter((word) => word !== '').join('|'), words.includes('')];
  if (names === '') return '';
  return isOptional ? ` [${names}]` : ` <${names}>`;
}

function refuse(wanted: string): never {
  process.stderr.write(`usage: npm run campaign -- ${wanted} [--seed N]\n`);
  process.exit(2);
}

function campaignNames(): string[] {
  const isOne = (file: string) => / = campaign\(/.test(readFileSync(join(import.meta.dirname, file), 'utf8'));
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.ts') && isOne(file))
    .map((file) => file.replace(/\.ts$/, ''))
    .sort();
}

function isCampaign(value: unknown): value is Campaign<Seeded, Found> {
  return typeof value === 'function' && 'whole' in value;
}

await main();
process.exit();
