import { Type } from 'typebox';
import { Nullable } from '../schema/schema.ts';

/** Largest image of an actor. */
export const AVATAR_BYTES = 2 * 1024 * 1024;

/** The image of an actor, in a body that sets it; null clears it (docs/contract.md#avatars). */
export const AvatarKey = Nullable(Type.String({ maxLength: 64 }));
