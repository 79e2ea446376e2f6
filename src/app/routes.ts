import { accountRoutes } from '../accounts/routes.ts';
import { artifactRoutes } from '../agents/artifact-routes.ts';
import { agentRoutes } from '../agents/routes.ts';
import { runRoutes } from '../agents/runs/routes.ts';
import type { ToolCatalogue } from '../agents/tools/catalogue.ts';
import { toolRoutes } from '../agents/tools/routes.ts';
import { occurrenceRoutes } from '../agents/triggers/routes.ts';
import { attachmentRoutes } from '../attachments/routes.ts';
import { auditRoutes } from '../audit/routes.ts';
import { erasureRoutes } from '../compliance/erasure-routes.ts';
import { exportRoutes } from '../compliance/exports/export-routes.ts';
import { policyRoutes } from '../compliance/policy-routes.ts';
import { removalRoutes } from '../compliance/removal-routes.ts';
import type { Config } from '../config.ts';
import { blockRoutes } from '../conversations/block-routes.ts';
import { participantRoutes } from '../conversations/participant-routes.ts';
import { conversationRoutes } from '../conversations/routes.ts';
import { realtimeRoutes } from '../gateway/routes.ts';
import type { Tickets } from '../gateway/socket/tickets.ts';
import type { Route } from '../http/route.ts';
import { conversationListRoutes } from '../inbox/routes.ts';
import { conversationEmailRoutes } from '../mail/conversation-email-routes.ts';
import { inboxRoutes } from '../mail/inboxes/inbox-routes.ts';
import { resendRoutes } from '../mail/outgoing/resend-routes.ts';
import { messageRoutes } from '../messages/routes.ts';
import { notificationRoutes } from '../notifications/routes.ts';
import { settingsRoutes } from '../notifications/settings-routes.ts';
import { eventRoutes } from '../platform-events/event-routes.ts';
import { subscriptionRoutes } from '../push/subscription-routes.ts';
import { registrationRoutes } from '../registration/registration-routes.ts';
import { searchRoutes } from '../search/search-routes.ts';
import type { Completeness } from '../webhooks/completeness.ts';
import { completenessRoutes } from '../webhooks/completeness-routes.ts';
import type { Deliverer } from '../webhooks/deliverer.ts';
import { deliveryRoutes } from '../webhooks/delivery-routes.ts';
import type { Replays } from '../webhooks/replays.ts';
import { webhookRoutes } from '../webhooks/webhook-routes.ts';
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
