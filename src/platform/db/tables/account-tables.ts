import type { Generated, JSONColumnType } from 'kysely';
import type { ActorType } from '../../../contract/protocol/resources/actor.ts';
import type { RoleType } from '../../../contract/protocol/resources/role.ts';
import type { DeclaredStatus } from '../../../contract/protocol/socket/activity.ts';
import type { Time, Times } from './touched.ts';

export interface AccountsTable extends Times {
  id: string;
  name: string;
  plan: Generated<'free' | 'pro'>;
  subscription: Generated<'active' | 'inactive'>;
  /** Set while the account is being removed: none of its credentials is accepted. */
  deleted_at: string | null;
}

export interface RolesTable extends Times {
  id: string;
  account_id: string;
  name: string;
  type: Generated<RoleType>;
  permissions: Generated<string[]>;
}

export interface ActorsTable extends Times {
  id: string;
  account_id: string;
  type: ActorType;
  customer: Generated<boolean>;
  name: string | null;
  handle: string | null;
  avatar_url: string | null;
  role_id: string | null;
  deactivated_at: string | null;
  /** When the actor was last deactivated. Older access tokens without a session stay refused. */
  tokens_ended_at: string | null;
  /** When the person's name and addresses were removed permanently. */
  erased_at: string | null;
}

export interface UsersTable extends Times {
  id: string;
  account_id: string;
  email: string;
}

export interface ApiKeysTable extends Times {
  id: string;
  account_id: string;
  actor_id: string;
  name: string;
  hash: Buffer;
  redacted: string;
  expires_at: string | null;
  revoked_at: string | null;
}

export interface TicketsTable {
  hash: Buffer;
  account_id: string;
  actor_id: string;
  credential: JSONColumnType<object>;
  expires_at: string;
}

export interface MessagingGroupsTable extends Times {
  id: string;
  account_id: string;
  actor_id: string;
  name: string;
}

export interface GroupMembersTable {
  group_id: string;
  actor_id: string;
  position: number;
}

export interface EntitiesTable extends Times {
  id: string;
  account_id: string;
  name: string | null;
  handle: string | null;
}

export interface RefreshTokensTable {
  hash: Buffer;
  family_id: string;
  account_id: string;
  actor_id: string;
  expires_at: string;
  used_at: string | null;
  revoked_at: string | null;
  created_at: Time;
  /** When the first token of the family was issued; null in tokens from before migration 0027. */
  began_at: string | null;
}

export interface AvatarsTable {
  /** A part of the public address; nothing else protects the image. */
  id: string;
  account_id: string;
  actor_id: string;
  s3_key: string;
  content_type: string;
  created_at: Time;
}

export interface PresencesTable {
  actor_id: string;
  node_id: string;
  status: DeclaredStatus;
  /** When the presence ends; set once the actor's last socket on this node has closed. */
  until: string | null;
}

export interface PresenceNodesTable {
  id: string;
  /** The rows of the node count until this time. */
  until: string;
}
