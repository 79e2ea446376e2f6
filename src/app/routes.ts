import type { Route } from '../api/pipeline/route.ts';
import { accountRoutes } from '../core/accounts/routes.ts';
import { attachmentRoutes } from '../core/attachments/routes.ts';
import { auditRoutes } from '../core/audit/routes.ts';
import { blockRoutes } from '../core/conversations/blocks/block-routes.ts';
import { groupCaseRoutes } from '../core/conversations/cases/group-case-routes.ts';
import { participantRoutes } from '../core/conversations/participants/participant-routes.ts';
import { conversationRoutes } from '../core/conversations/routes.ts';
import { conversationListRoutes } from '../core/inbox/routes.ts';
import {
  type InstallationRoutesOptions,
  installationRoutes,
} from '../core/installation/installation-routes.ts';
import { messageRoutes } from '../core/messages/routes.ts';
import { notificationRoutes } from '../core/notifications/routes.ts';
import { settingsRoutes } from '../core/notifications/settings/settings-routes.ts';
import { registrationRoutes } from '../core/registration/registration-routes.ts';
import { type RealtimeRoutesOptions, realtimeRoutes } from '../edge/gateway/routes.ts';
import type { Access } from './access.ts';
import type { Config } from './config.ts';
import type { Data } from './data.ts';
import type { Messaging } from './messaging.ts';
import type { OpenedFeatures } from './opened-features.ts';

/** Returns every endpoint of the API. Documents, agents' tools and tests are derived from them. */
export function apiRoutes(
  { database, engine, store, avatars, signingKey }: Data,
  { directory, rights, tokens, authenticator }: Access,
  { sender, lockedWrites, timeline, encoded }: Messaging,
  features: OpenedFeatures,
  realtime: Pick<RealtimeRoutesOptions, 'tickets' | 'answers'>,
  registration: Config['registration'],
  installation: InstallationRoutesOptions,
): Route[] {
  return [
    ...accountRoutes(database, tokens, authenticator, avatars),
    ...registrationRoutes(registration),
    ...auditRoutes(database, signingKey),
    ...features.routesBehind('audit'),
    ...conversationListRoutes(database, engine),
    ...conversationRoutes(database, directory),
    ...groupCaseRoutes(database),
    ...blockRoutes(database, rights),
    ...participantRoutes(database, directory, engine, rights, tokens),
    ...messageRoutes({
      sender,
      lockedWrites,
      database,
      files: store,
      directory,
      timeline,
      encoded: encoded.messages,
    }),
    ...features.routesBehind('messages'),
    ...attachmentRoutes(store),
    ...features.routesBehind('attachments'),
    ...notificationRoutes(database, encoded.notifications),
    ...settingsRoutes(database),
    ...features.routesBehind('settings'),
    ...realtimeRoutes({ ...realtime, directory, engine }),
    ...installationRoutes(installation),
  ];
}
