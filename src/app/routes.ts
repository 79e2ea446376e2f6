import { accountRoutes } from '../core/accounts/routes.ts';
import { attachmentRoutes } from '../core/attachments/routes.ts';
import { auditRoutes } from '../core/audit/routes.ts';
import { blockRoutes } from '../core/conversations/block-routes.ts';
import { participantRoutes } from '../core/conversations/participant-routes.ts';
import { conversationRoutes } from '../core/conversations/routes.ts';
import { conversationListRoutes } from '../core/inbox/routes.ts';
import { messageRoutes } from '../core/messages/routes.ts';
import { notificationRoutes } from '../core/notifications/routes.ts';
import { settingsRoutes } from '../core/notifications/settings-routes.ts';
import { registrationRoutes } from '../core/registration/registration-routes.ts';
import { realtimeRoutes } from '../edge/gateway/routes.ts';
import type { Tickets } from '../edge/gateway/socket/tickets.ts';
import { artifactRoutes } from '../features/agents/artifact-routes.ts';
import { agentRoutes } from '../features/agents/routes.ts';
import { runRoutes } from '../features/agents/runs/routes.ts';
import type { ToolCatalogue } from '../features/agents/tools/catalogue.ts';
import { toolRoutes } from '../features/agents/tools/routes.ts';
import { occurrenceRoutes } from '../features/agents/triggers/routes.ts';
import { erasureRoutes } from '../features/compliance/erasure-routes.ts';
import { exportRoutes } from '../features/compliance/exports/export-routes.ts';
import { policyRoutes } from '../features/compliance/policy-routes.ts';
import { removalRoutes } from '../features/compliance/removal-routes.ts';
import { conversationEmailRoutes } from '../features/mail/conversation-email-routes.ts';
import { inboxRoutes } from '../features/mail/inboxes/inbox-routes.ts';
import { resendRoutes } from '../features/mail/outgoing/resend-routes.ts';
import { eventRoutes } from '../features/platform-events/event-routes.ts';
import { subscriptionRoutes } from '../features/push/subscription-routes.ts';
import { searchRoutes } from '../features/search/search-routes.ts';
import type { Completeness } from '../features/webhooks/completeness.ts';
import { completenessRoutes } from '../features/webhooks/completeness-routes.ts';
import type { Deliverer } from '../features/webhooks/deliverer.ts';
import { deliveryRoutes } from '../features/webhooks/delivery-routes.ts';
import type { Replays } from '../features/webhooks/replays.ts';
import { webhookRoutes } from '../features/webhooks/webhook-routes.ts';
import type { Config } from '../platform/config.ts';
import type { Route } from '../platform/http/route.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { Mail } from './mail.ts';
import type { Messaging } from './messaging.ts';
import type { Push } from './push.ts';

/** Every endpoint of the API. Documents, tools of agents and tests are derived from this table. */
export function apiRoutes(
  { database, engine, store, avatars, signingKey }: Data,
  { directory, rights, tokens }: Access,
  { vapid, guard }: Push,
  { sender, lockedWrites, timeline, encoded, retention }: Messaging,
  { outgoing }: Pick<Mail, 'outgoing'>,
  {
    catalogue,
    tickets,
    config,
    deliverer,
    completeness,
    replays,
  }: {
    readonly catalogue: ToolCatalogue;
    readonly tickets: Tickets;
    readonly config: Config;
    readonly deliverer: Deliverer;
    readonly completeness: Completeness;
    readonly replays: Replays;
  },
): Route[] {
  return [
    ...accountRoutes(database, tokens, avatars),
    ...registrationRoutes(config.registration),
    ...auditRoutes(database, signingKey),
    ...policyRoutes(database, retention),
    ...conversationListRoutes({ database, engine }),
    ...conversationRoutes({ database, directory }),
    ...blockRoutes({ database, rights }),
    ...participantRoutes({ database, directory, engine, rights, tokens }),
    ...messageRoutes({
      ...{ sender, lockedWrites, database, files: store, directory, timeline },
      encoded: encoded.messages,
    }),
    ...removalRoutes({ database, files: store, directory, restoreDays: config.restoreDays }),
    ...conversationEmailRoutes({ database, directory, files: store }),
    ...resendRoutes({ database, directory, files: store, outgoing }),
    ...inboxRoutes({
      database,
      domains: { domains: config.mailDomains, isAny: config.registration === 'closed' },
    }),
    ...attachmentRoutes(store),
    ...exportRoutes({ database, files: store }),
    ...erasureRoutes({ database }),
    ...notificationRoutes(database, encoded.notifications),
    ...settingsRoutes(database),
    ...searchRoutes({ database, files: store, directory }),
    ...eventRoutes(database),
    ...subscriptionRoutes({ database, guard, vapid }),
    ...agentRoutes({ database, catalogue, avatars }),
    ...runRoutes({ database, directory, catalogue }),
    ...occurrenceRoutes({ database }),
    ...artifactRoutes({ database, directory, files: store }),
    ...toolRoutes(catalogue),
    ...webhookRoutes({ database, guard }),
    ...deliveryRoutes({ database, deliverer }),
    ...completenessRoutes({ database, completeness, replays }),
    ...realtimeRoutes(tickets),
  ];
}
