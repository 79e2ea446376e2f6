import { type Static, Type } from 'typebox';
import { ChangedOwnId, IdOf, NewOwnId, OWN_ID_TEXTS } from '../schema/external-ids.ts';
import { Body, describe, Name } from '../schema/schema.ts';
import { AvatarKey } from './avatar.ts';

/** Most users and agents in a group. */
const MAX_GROUP_MEMBERS = 100;

/** The values of `include[]` on the endpoints of groups. */
export const GROUP_INCLUDES = ['members'] as const;

/** `members` in the order in which they are shown. */
export const CreateGroupBody = Body({
  name: Name,
  members: Type.Optional(
    Type.Array(IdOf('user', 'agent'), { maxItems: MAX_GROUP_MEMBERS, uniqueItems: true }),
  ),
  external_id: NewOwnId,
});
export type CreateGroupBody = Static<typeof CreateGroupBody>;

describe(CreateGroupBody, {
  name: 'Name of the group.',
  members: 'Ids of users and agents (`act_…`, `agt_…`), in the order in which they are shown; each once.',
  external_id: OWN_ID_TEXTS.create,
});

/** Body of PUT for a group: all of a new group, else the changes. */
export const PutGroupBody = Body({
  name: Type.Optional(Name),
  members: CreateGroupBody.properties.members,
});
export type PutGroupBody = Static<typeof PutGroupBody>;
describe(PutGroupBody, {
  name: 'Name of the group. Required for a new group.',
  members: 'Ids of users and agents, in the order in which they are shown; each once.',
});

export const UpdateGroupBody = Body({
  name: Type.Optional(Name),
  members: CreateGroupBody.properties.members,
  avatar_s3_key: Type.Optional(AvatarKey),
  external_id: ChangedOwnId,
});
export type UpdateGroupBody = Static<typeof UpdateGroupBody>;
describe(UpdateGroupBody, {
  name: 'The new name of the group. The persona Customer Service keeps its name.',
  members: 'The new members in place of those before, in the order in which they are shown; each once.',
  external_id: OWN_ID_TEXTS.change,
});
