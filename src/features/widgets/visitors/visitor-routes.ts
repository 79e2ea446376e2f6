import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import { ClaimVisitorBody, VisitorClaim, VisitorSession } from '@parley/protocol/resources/widget.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { VerifiedToken } from '../../../api/access/tokens.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { issueTokenPair } from '../../../core/accounts/sessions/token-pairs.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { findOffered, findWidget, type WidgetRow } from '../widgets/widget-store.ts';
import { claimVisitor } from './claim.ts';
import { insertVisitor } from './visitor-store.ts';

export type VisitorParts = Pick<NodeParts, 'database' | 'tokens' | 'authenticator' | 'rateLimits'>;

/** Returns the routes by which visitors begin and become customers (docs/contract.md#widgets). */
export function visitorRoutes(parts: VisitorParts): Route[] {
  const { database, rateLimits } = parts;
  const common = { since: '1.3.harbor', permission: null, agents: false, customers: true } as const;
  return [
    defineRoute({
      ...common,
      name: 'create_visitor',
      method: 'POST',
      path: '/v1/widgets/:id/visitors',
      summary: 'Begin an anonymous visitor of a widget',
      open: true,
      scarce: 'visitors',
      once: true,
      secret: true,
      refuses: ['rate_limit_exceeded'],
      status: 201,
      response: VisitorSession,
      async prepare({ params }) {
        const widget = await findOffered(database, params.id!);
        await rateLimits.visitors.consume(widget.id);
        return widget;
      },
      async change(tx, _, { id: widgetId, account_id: accountId }) {
        const actorId = await insertVisitor(tx, { accountId, widgetId });
        return beginSession(tx, parts, { accountId, actorId, widgetId });
      },
    }),
    defineRoute({
      ...common,
      name: 'claim_visitor',
      method: 'POST',
      path: '/v1/widgets/:id/visitors/actions/claim',
      summary: 'Make an anonymous visitor the customer that a token of the application names',
      refuses: ['resource_conflict'],
      body: ClaimVisitorBody,
      response: VisitorClaim,
      async prepare({ principal, params, body }) {
        const widget = await findWidget(database, principal.accountId, params.id!);
        requireProvided(principal, widget);
        return readVisitorToken(parts, principal, widget.id, body.visitor_token);
      },
      async change(tx, { principal: { accountId, actor } }, { visitorId, refusal }) {
        const claim = { accountId, visitorId, customerId: actor.id, by: 'token' } as const;
        const { claimed_at } = await claimVisitor(tx, claim, refusal);
        return presentAs(VisitorClaim, {
          visitor_id: visitorId,
          customer_id: actor.id,
          claimed_at: claimed_at!,
        });
      },
    }),
  ];
}

/** Begins a session that came by a widget. */
export async function beginSession(
  tx: Tx,
  { tokens }: Pick<VisitorParts, 'tokens'>,
  subject: { readonly accountId: string; readonly actorId: string; readonly widgetId: string },
): Promise<VisitorSession> {
  const pair: Token = await issueTokenPair(tx, tokens, subject, newId('session'));
  const { access_token, refresh_token, expires_at } = pair;
  return presentAs(VisitorSession, {
    account_id: subject.accountId,
    customer_id: subject.actorId,
    access_token,
    refresh_token,
    expires_at,
  });
}

function requireProvided({ customer, credential }: Principal, widget: WidgetRow): void {
  if (customer && credential.provider !== undefined && credential.provider.id === widget.identity_provider_id)
    return;
  throw new ApiError(
    'insufficient_permissions',
    'Only a customer with a token of the identity provider that the widget names can claim a visitor.',
  );
}

interface ReadVisitor {
  readonly visitorId: string;
  /** Why the token is no longer a credential, which a repetition does not need. */
  readonly refusal: ApiError | undefined;
}

/** Reads the token of a visitor, which ends with its first claim. Rejects with ApiError. */
async function readVisitorToken(
  { tokens, authenticator }: VisitorParts,
  { accountId }: Principal,
  widgetId: string,
  token: string,
): Promise<ReadVisitor> {
  const verified = await atParam(tokens.verifyAccess(token));
  if (verified.accountId !== accountId || verified.widgetId !== widgetId) {
    throw new ApiError('invalid_credentials', 'This is no token of a visitor of the widget.', PARAM);
  }
  try {
    await authenticator.authenticate(`Bearer ${token}`);
    return { visitorId: verified.actorId, refusal: undefined };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    return { visitorId: verified.actorId, refusal: new ApiError(error.condition, error.message, PARAM) };
  }
}

async function atParam(verifying: Promise<VerifiedToken>): Promise<VerifiedToken> {
  try {
    return await verifying;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError(error.condition, error.message, PARAM);
  }
}

const PARAM = { param: 'visitor_token' } as const;
