import { ApiError } from '@parley/protocol/errors/errors.ts';
import { readWebhookUrl } from '../../src/features/webhooks/webhook.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { readOutboundUrl } from '../../src/platform/outbound/outbound-url.ts';
import { hostileUrls as urlsOf } from '../agents/hostile-urls.ts';
import { FRIEND, startCanaries } from '../support/canaries.ts';
import { interfaceAddresses } from '../support/own-addresses.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { createGround } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { firstTry, openDelivering } from '../webhooks/delivering.ts';
import { addWebhook } from '../webhooks/webhook.ts';
import { campaign, type Seeded } from './campaign.ts';

interface HostileUrlsOptions extends Seeded {
  /** Tries of names whose addresses change between look-ups. */
  readonly changes: number;
  /** Uses every n-th URL. */
  readonly every?: number;
}

const REDIRECTS = '/redirects';
const NAMES = 40;
const SIDE_BY_SIDE = 20;

/**
 * Has webhooks sent to URLs that must not be requested: written in every known way, behind
 * redirects, and under names whose addresses change between look-ups. URLs that the endpoint would
 * refuse are put into the table.
 */
export const hostileUrls = campaign({ whole: () => ({ changes: 5_000 }), run });

async function run(t: Teardown, { changes, every = 1 }: HostileUrlsOptions, random: Random) {
  /** The targets of the path of redirects, in their order. */
  let targets: string[] = [];
  let redirected = 0;
  const canaries = await startCanaries(t, (request, response) => {
    request.resume();
    // Half of the connections end, so that names are looked up again.
    if (random.next() < 0.5) response.setHeader('Connection', 'close');
    if (request.url === REDIRECTS) {
      const Location = targets[redirected++ % targets.length];
      response.writeHead(random.pick([301, 302, 303, 307, 308]), { Location }).end();
    } else {
      response.writeHead(200).end();
    }
  });
  const { port, addresses } = canaries;
  const lookups = new Map<string, number>();
  const guardOptions = {
    allow: [`${FRIEND}:${port}`],
    resolve: async (name: string) => {
      lookups.set(name, (lookups.get(name) ?? 0) + 1);
      if (!name.endsWith('.changes.test')) return addresses;
      return random.pick([[FRIEND], [random.pick(addresses)], [random.pick(addresses), FRIEND], addresses]);
    },
  };
  const ground = await createGround(t);
  const { deliverer, database } = await openDelivering(t, ground.url, { guard: guardOptions });
  const add = (url: string) =>
    addWebhook(database, { accountId: ground.accountId, actorId: ground.authorId }, { url });

  const { refused } = urlsOf(port, `docs.test:${port}`, interfaceAddresses());
  const urls = refused
    .flatMap((url) => [url, url.replace(/^http:/, 'https:')])
    .filter((_, n) => n % every === 0);
  const guard = new AddressGuard(guardOptions);
  const problems: string[] = [];
  const refusedAtOnce = urls.filter((url) => isRefused(url, guard));
  const sent: string[] = [];
  for (const url of new Set(urls.filter(isUrl))) sent.push(await add(url));
  await deliverer.deliver(sent.map((id) => firstTry(id)));
  const ended = await outcomesOf(sent.length);
  if (ended.delivered > 0) problems.push(`${ended.delivered} hostile URLs count as delivered`);

  const names: string[] = [];
  for (let n = 0; n < NAMES; n++) names.push(await add(`http://n${n}.changes.test:${port}/`));
  for (let left = changes; left > 0; left -= SIDE_BY_SIDE) {
    const tries = Array.from({ length: Math.min(SIDE_BY_SIDE, left) }, () => firstTry(random.pick(names)));
    await deliverer.deliver(tries);
  }
  const changed = await outcomesOf(sent.length + changes);

  const redirecting = await add(`http://${FRIEND}:${port}${REDIRECTS}`);
  targets = refused.filter((url) => /^[\x21-\x7e]+$/.test(url)).filter((_, n) => n % (3 * every) === 0);
  await deliverer.deliver(targets.map(() => firstTry(redirecting)));
  await outcomesOf(sent.length + changes + targets.length);
  const { rowCount: notFollowed } = await database.pool.query(
    "SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND last_error = 'redirect'",
    [redirecting],
  );
  if (notFollowed !== targets.length)
    problems.push(`of ${targets.length} redirects ${notFollowed} failed as such`);
  if (canaries.reached > 0) problems.push(`canaries were reached ${canaries.reached} times`);
  return {
    urls: urls.length,
    refusedAtOnce: refusedAtOnce.length,
    sent: sent.length,
    changes,
    changesDelivered: changed.delivered,
    redirects: targets.length,
    lookups: [...lookups.values()].reduce((sum, count) => sum + count, 0),
    reached: canaries.reached,
    problems,
  };

  /** Waits until this many deliveries have had a try. */
  function outcomesOf(count: number): Promise<{ delivered: number }> {
    return until(
      async () => {
        const { rows } = await database.pool.query<{ tried: number; delivered: number }>(
          `SELECT count(*) FILTER (WHERE attempts > 0) AS tried, count(*) FILTER (WHERE status = 'delivered') AS delivered
           FROM webhook_deliveries`,
        );
        return Number(rows[0]!.tried) >= count ? { delivered: Number(rows[0]!.delivered) } : undefined;
      },
      { what: `${count} tries` },
    );
  }
}

function isRefused(url: string, guard: AddressGuard): boolean {
  try {
    readWebhookUrl(url, guard);
    return false;
  } catch (error) {
    if (error instanceof ApiError) return true;
    throw error;
  }
}

function isUrl(url: string): boolean {
  try {
    return readOutboundUrl(url).href !== '';
  } catch {
    return false;
  }
}
