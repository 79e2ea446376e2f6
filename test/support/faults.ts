/**
 * `npm run faults`: a FaultProxy in a separate process, in front of a server that a client is
 * tested against.
 */

import { parseArgs } from 'node:util';
import { FaultProxy } from './fault-proxy.ts';

const HELP = `usage: npm run faults -- --target host:port [options]

Listens on 127.0.0.1 and passes every connection on to the target, with faults. Point a client at it in place
of the server, and see whether it gets everything, once and in order. Ctrl-C ends it and says what it did.

  --target host:port   where connections go, a gateway's address for example
  --listen port        where it listens (default: a free port, printed)
  --seed N             chance follows it (default 1)
  --cut-every ms       every so often one connection is reset, both sides
  --delay ms           how long every byte is held, in either direction
  --drop-rate p        0 to 1: the chance of each chunk to be the last that passes; its connection then stays
                       open and silent, as behind a router that is gone
  --hold-rate p        in front of Redis: the chance of each published message to be held for up to 50 ms while
                       those behind it pass
  --lose-rate p        in front of Redis: the chance of each published message to be left out, while its connection
                       stays up
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', default: '' },
      listen: { type: 'string', default: '0' },
      seed: { type: 'string', default: '1' },
      'cut-every': { type: 'string', default: '0' },
      delay: { type: 'string', default: '0' },
      'drop-rate': { type: 'string', default: '0' },
      'hold-rate': { type: 'string', default: '0' },
      'lose-rate': { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const target = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[^:]+)):(?<port>\d+)$/i.exec(values.target)?.groups;
  if (target === undefined) throw new Error(`--target must be host:port, not '${values.target}'`);
  const seed = numberOf('seed', values.seed, 2 ** 32 - 1);
  const holdRate = numberOf('hold-rate', values['hold-rate'], 1);
  const loseRate = numberOf('lose-rate', values['lose-rate'], 1);
  const proxy = await FaultProxy.start({
    target: { host: target.v6 ?? target.name ?? '', port: Number(target.port) },
    port: numberOf('listen', values.listen, 65_535),
    seed,
    faults: {
      cutEveryMs: numberOf('cut-every', values['cut-every'], MAX_MS),
      delayMs: numberOf('delay', values.delay, MAX_MS),
      dropRate: numberOf('drop-rate', values['drop-rate'], 1),
      ...(holdRate + loseRate > 0 && {
        holdMs: (_, random) => {
          if (random.next() < loseRate) return Number.POSITIVE_INFINITY;
          return random.next() < holdRate ? 1 + random.below(MAX_HELD_MS) : 0;
        },
      }),
    },
  });
  process.stdout.write(`127.0.0.1:${proxy.port} passes on to ${values.target}, seed ${seed}\n`);
  const end = async () => {
    await proxy.close();
    process.stdout.write(`${JSON.stringify(proxy.counts)}\n`);
    process.exit();
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
}

const MAX_MS = 3_600_000;
const MAX_HELD_MS = 50;

function numberOf(name: string, text: string, most: number): number {
  const number = text === '' ? Number.NaN : Number(text);
  if (number >= 0 && number <= most) return number;
  throw new Error(`--${name} must be a number from 0 to ${most}, not '${text}'`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  process.exit(2);
}
