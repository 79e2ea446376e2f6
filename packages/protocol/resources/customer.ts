import { type Static, Type } from 'typebox';
import { ChangedOwnId, OWN_ID_TEXTS, OwnId } from '../schema/external-ids.ts';
import { Body, describe, Identity, Name, Nullable, OneOf, Times } from '../schema/schema.ts';
import { METADATA_TEXTS, MetadataField, MetadataPatch } from './metadata.ts';

/**
 * An outside person of cases (docs/contract.md#the-customers-of-an-account). Its id is the id of
 * its actor.
 */
export const Customer = Type.Object({
  ...Identity('customer'),
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  status: OneOf(['active', 'deactivated']),
  blocked: Type.Boolean(),
  avatar_url: Nullable(Type.String()),
  external_id: OwnId,
  metadata: MetadataField,
  ...Times,
});
export type Customer = Static<typeof Customer>;

describe(Customer, {
  id: 'Opaque identifier of the customer, which is the id of its actor.',
  name: 'Name of the person. Null where there is none.',
  email: 'Email address, which several customers may have. Null where there is none.',
  status: 'A `deactivated` customer was erased.',
  blocked: 'Whether the team has blocked the customer, who then can only read.',
  external_id: OWN_ID_TEXTS.field,
  metadata: METADATA_TEXTS.shown,
});

const Email = Type.String({ format: 'email' });

/** Absent fields stay. */
export const UpdateCustomerBody = Body({
  name: Type.Optional(Name),
  email: Type.Optional(Email),
  external_id: ChangedOwnId,
  metadata: MetadataPatch,
});
export type UpdateCustomerBody = Static<typeof UpdateCustomerBody>;
describe(UpdateCustomerBody, {
  name: 'The new name of the person.',
  email:
    'The email address of a customer without one; another one than the customer has answers `resource_conflict`.',
  external_id: OWN_ID_TEXTS.change,
  metadata: METADATA_TEXTS.changed,
});

/** Body of PUT for a customer: all of a new customer, else the changes. */
export const PutCustomerBody = Body({
  name: Type.Optional(Name),
  email: Type.Optional(Email),
  metadata: MetadataField,
});
export type PutCustomerBody = Static<typeof PutCustomerBody>;
describe(PutCustomerBody, {
  name: 'Name of the person. Required for a new customer.',
  email: 'Email address. Another one than the customer has answers `resource_conflict`.',
  metadata: METADATA_TEXTS.put,
});
