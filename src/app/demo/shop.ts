import { randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { writeActor } from '../../core/accounts/actors/actors.ts';
import type { Shop } from '../../edge/console/shop-page.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { type DemoRows, extendDemo, lockDemo } from '../demo.ts';

/**
 * Returns the shop whose pages are at a site. Makes its widget, and the identity provider that the
 * widget names, unless they exist. Undefined where the build has no widgets.
 */
export function openShop(database: Database, site: string): Promise<Shop | undefined> {
  return database.transaction(async (tx) => {
    const demo = await lockDemo(tx);
    const shopWidget = tx.hooks.first('demoWidget');
    if (demo === undefined || shopWidget === undefined) return undefined;
    const provider = await issuerOf(tx, demo);
    const wanted = { ...ownedBy(demo), identity_provider_id: provider?.id ?? null, site };
    const { id: widget } = await shopWidget(tx, wanted, demo.shop?.widget);
    if (demo.shop === undefined)
      await writeActor(tx, demo.customer.actorId, 'customer', { external_id: CARL });
    if (demo.shop?.widget !== widget) await extendDemo(tx, { ...demo, shop: { widget } });
    return { account: demo.accountId, widget };
  });
}

/**
 * Returns a token of the shop that names its customer, signed as the server of an application does.
 * Undefined if the shop has no secret: the build has no identity providers, or its own has keys.
 */
export async function shopToken(database: Database): Promise<string | undefined> {
  const provider = await database.transaction(async (tx) => {
    const demo = await lockDemo(tx);
    return demo && issuerOf(tx, demo);
  });
  if (!provider?.secret) return undefined;
  return new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(CARL)
    .setIssuedAt()
    .setExpirationTime('15 minutes')
    .sign(new TextEncoder().encode(provider.secret));
}

async function issuerOf(tx: Tx, demo: DemoRows) {
  const secret = randomBytes(32).toString('base64url');
  const wanted = { ...ownedBy(demo), issuer: ISSUER, audience: AUDIENCE, secret };
  return tx.hooks.first('demoIssuer')?.(tx, wanted);
}

function ownedBy({ accountId, users }: DemoRows) {
  return { account_id: accountId, created_by: users.ada.id, name: 'Sample shop' };
}

const ISSUER = 'https://shop.demo.example';
const AUDIENCE = 'parley';
/** The id that the shop has for Carl. */
const CARL = 'demo-shop-carl';
