/**
 * `npm run bench -- against <base_url>`: sends to a running installation at growing rates, in an
 * open loop, until the p99 breaks a limit, and ends in a sentence.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import { readDemoFile } from '../src/app/demo.ts';
import { ROOT } from './lib/checkout.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { openLoop } from './lib/open-loop.ts';
import { conclusion, isWithin, nextRate, type Step, type SteppingOptions } from './lib/stepping.ts';
import { exponential } from './lib/tokens.ts';

const AGAINST_USAGE = `npm run bench -- against <base_url> [options]
  --token <bearer>       an access token or API key; also from PARLEY_BENCH_TOKEN
  --account <acc_…>      the account of the token
  --conversation <cnv_…> where to send: use one of its own, it gets thousands of messages
                         (without these three: the demo account of this checkout, if it runs there)
  --limit-ms <n>         the p99 that must not be broken (default 100)
  --start <n>            sends a second at the beginning (default 25)
  --most <n>             sends a second that are never exceeded (default 20000)
  --seconds <n>          length of a step (default 10)
  --connections <n>      keep-alive connections (default 64)
`;

/** Returns the exit code. */
export async function runAgainst(args: readonly string[]): Promise<number> {
  const target = readTarget(args);
  if (typeof target === 'string') {
    process.stderr.write(`${target}\n${AGAINST_USAGE}`);
    return 2;
  }
  const refusal = await tryOne(target);
  if (refusal !== undefined) {
    process.stderr.write(`The first send was not accepted: ${refusal}\n`);
    return 1;
  }
  // Thrown away: the first sends find caches empty and code that was never run.
  await measureStep({ ...target, durationMs: WARM_UP_MS }, target.stepping.startRate, 0);
  const steps: Step[] = [];
  for (
    let rate = nextRate(steps, target.stepping);
    rate !== undefined;
    rate = nextRate(steps, target.stepping)
  ) {
    const step = await measureStep(target, rate, steps.length + 1);
    steps.push(step);
    const verdict = isWithin(step, target.stepping) ? 'good' : 'too slow';
    const failed = step.failed === 0 ? '' : `, ${step.failed} failed`;
    process.stdout.write(
      `${rate} sends a second: median ${step.p50Ms.toFixed(1)} ms, p99 ${step.p99Ms.toFixed(1)} ms${failed}: ${verdict}\n`,
    );
    // The work that the step left must not fall into the next one.
    await delay(PAUSE_MS);
  }
  process.stdout.write(`\n${conclusion(target.baseUrl, steps, target.stepping)}\n`);
  return 0;
}

const PAUSE_MS = 1_000;
const WARM_UP_MS = 2_000;
const BODY =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';

interface Target {
  readonly baseUrl: string;
  readonly url: URL;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly durationMs: number;
  readonly stepping: SteppingOptions;
}

/** Returns the missing or wrong option in words. */
function readTarget(args: readonly string[]): Target | string {
  const text = { type: 'string' } as const;
  let parsed: ReturnType<typeof parse>;
  const parse = () =>
    parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        token: text,
        account: text,
        conversation: text,
        'limit-ms': text,
        start: text,
        most: text,
        seconds: text,
        connections: text,
      },
    });
  try {
    parsed = parse();
  } catch (error) {
    return (error as Error).message;
  }
  const { values, positionals } = parsed;
  const [baseUrl = ''] = positionals;
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) return 'Give the base URL of an installation.';
  const numbers = new Map<string, number>();
  for (const [name, fallback] of Object.entries(NUMBERS)) {
    const value = Number(values[name as keyof typeof NUMBERS] ?? fallback);
    if (!(value > 0)) return `--${name} must be a number above zero.`;
    numbers.set(name, value);
  }
  const demo = readDemoFile(join(ROOT, '.data/demo.json'));
  const ownDemo = demo?.base_url === baseUrl ? demo : undefined;
  const token = values.token ?? process.env.PARLEY_BENCH_TOKEN ?? ownDemo?.api_key;
  const account = values.account ?? ownDemo?.account_id;
  const conversation = values.conversation ?? ownDemo?.conversations.direct;
  if (token === undefined || account === undefined || conversation === undefined)
    return 'Give --token, --account and --conversation.';
  const url = new URL(baseUrl);
  return {
    baseUrl,
    url,
    connections: numbers.get('connections')!,
    durationMs: numbers.get('seconds')! * 1_000,
    path: `${url.pathname.replace(/\/$/, '')}/v1/messaging/conversations/${conversation}/messages`,
    headers: {
      Authorization: `Bearer ${token}`,
      'Service-Version': CURRENT_VERSION,
      'Service-Account': account,
    },
    stepping: {
      startRate: numbers.get('start')!,
      limitMs: numbers.get('limit-ms')!,
      mostRate: numbers.get('most')!,
    },
  };
}

const NUMBERS = { 'limit-ms': 100, start: 25, most: 20_000, seconds: 10, connections: 64 };

/** Returns the answer unless it is a 201. */
async function tryOne({ url, path, headers }: Target): Promise<string | undefined> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ body: BODY, client_message_id: randomUUID() }),
  });
  return response.status === 201 ? undefined : `${response.status} ${await response.text()}`;
}

async function measureStep(target: Target, ratePerSecond: number, seed: number): Promise<Step> {
  const { url, path, headers, connections: size, durationMs } = target;
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const connections = await HttpConnections.open({ host: url.hostname, port, size, secure });
  try {
    const { failed, latencyUs } = await openLoop({
      ratePerSecond,
      durationMs,
      gapMs: exponential(1_000 / ratePerSecond, seed),
      send: (_, done) => {
        const body = JSON.stringify({ body: BODY, client_message_id: randomUUID() });
        connections.send(postRequest(path, headers, body, url.host), (status) => done(status === 201));
      },
    });
    return { ratePerSecond, failed, p50Ms: latencyUs.p50 / 1_000, p99Ms: latencyUs.p99 / 1_000 };
  } finally {
    connections.close();
  }
}
