import { type Static, Type } from 'typebox';
import { Body, describe, Id, Identity, Name, Nullable, OneOf, Times } from '../schema/schema.ts';

/** Algorithms of tokens. HS256, HS384 and HS512 need a `secret`, the rest a public key. */
export const IDENTITY_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'HS256',
  'HS384',
  'HS512',
] as const;
export type IdentityAlgorithm = (typeof IDENTITY_ALGORITHMS)[number];

export const DEFAULT_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const satisfies readonly IdentityAlgorithm[];

/** The subject: an id of the issuer, or the `external_id` of a person of the account. */
const SUBJECT_MEANINGS = ['own', 'external_id'] as const;
export type SubjectMeaning = (typeof SUBJECT_MEANINGS)[number];

const PROVIDED_PERSONS = ['team', 'customer'] as const;
export type ProvidedPerson = (typeof PROVIDED_PERSONS)[number];

const PROVISIONS = ['off', 'first_use'] as const;
export type Provision = (typeof PROVISIONS)[number];

/** Most bytes of a key set, and of the answer at `jwks_url`. */
export const KEY_SET_BYTES = 65_536;

const LIMITS = {
  issuer: 255,
  audience: 255,
  audiences: 20,
  claim: 200,
  keys: 50,
  secret: 1_024,
  client: 255,
} as const;

const KeyType = Type.String({ maxLength: 20, description: 'Kind of the key: `RSA`, `EC` or `OKP`.' });
const Key = Type.Object({ kty: KeyType }, { additionalProperties: true });

/** Public keys as JSON Web Keys (RFC 7517). */
export const KeySet = Type.Object(
  { keys: Type.Array(Key, { minItems: 1, maxItems: LIMITS.keys }) },
  { additionalProperties: true },
);
export type KeySet = Static<typeof KeySet>;
describe(KeySet, { keys: 'The keys, as JSON Web Keys.' });

const Claims = Type.Object({ subject: Type.String(), name: Type.String(), email: Type.String() });
const CLAIM_TEXTS = {
  subject: 'The claim that says who the token is about. Default: `sub`.',
  name: 'The claim with the name of a person that a token makes. Default: `name`.',
  email: 'The claim with the e-mail address of a user that a token makes. Default: `email`.',
};
describe(Claims, CLAIM_TEXTS);

/** An issuer whose tokens an account accepts (docs/contract.md#identity-providers). */
export const IdentityProvider = Type.Object({
  ...Identity('identity_provider'),
  name: Type.String(),
  issuer: Type.String(),
  audience: Type.Array(Type.String(), { examples: [['https://api.example.com']] }),
  jwks_url: Nullable(Type.String()),
  jwks: Nullable(KeySet),
  has_secret: Type.Boolean(),
  algorithms: Type.Array(OneOf(IDENTITY_ALGORITHMS), { examples: [[...DEFAULT_ALGORITHMS]] }),
  claims: Claims,
  subject: OneOf(SUBJECT_MEANINGS),
  person: OneOf(PROVIDED_PERSONS),
  provision: OneOf(PROVISIONS),
  role_id: Nullable(Type.String()),
  client_id: Nullable(Type.String()),
  has_client_secret: Type.Boolean(),
  created_by: Type.String(),
  ...Times,
});
export type IdentityProvider = Static<typeof IdentityProvider>;

const ALGORITHMS_TEXT =
  'The algorithms that signatures may have. Default: `RS256`, `ES256` and `EdDSA`; with a `secret`: `HS256`.';
const SUBJECT_TEXT =
  'What the subject of a token names: `own`, a person whom the issuer alone knows by it, or `external_id`, the user or customer with that `external_id`.';
const PERSON_TEXT = 'Whom its tokens are about: users of the `team`, or a `customer`.';
const PROVISION_TEXT =
  'What happens to the token of a person that is not there: `off` refuses it, `first_use` makes the person.';
const AUDIENCE_TEXT = 'Accepted audiences: `aud` of a token must have one of them.';
const ISSUER_TEXT = 'The issuer, compared byte for byte with `iss` of a token.';

describe(IdentityProvider, {
  name: 'Name of the provider, for people.',
  issuer: ISSUER_TEXT,
  audience: AUDIENCE_TEXT,
  jwks_url: 'Where the public keys are read. Null with `jwks` or a secret.',
  jwks: 'The public keys. Null with `jwks_url` or a secret.',
  has_secret: 'Whether tokens are signed with a shared secret, which is never shown.',
  algorithms: ALGORITHMS_TEXT,
  claims: 'Which claims of a token are read.',
  subject: SUBJECT_TEXT,
  person: PERSON_TEXT,
  provision: PROVISION_TEXT,
  role_id: 'Id of the role of users that a token makes. Null where it makes none.',
  client_id:
    'The id of the client by which people of the team sign in at the provider. Null where they do not.',
  has_client_secret: 'Whether that client has a secret, which is never shown.',
  created_by: 'Id of the actor that made it.',
});

const Audience = Type.String({ minLength: 1, maxLength: LIMITS.audience });
/** One schema for both forms, so that a refusal is about the sent form. */
const AudienceOrList = Type.Unsafe<string | string[]>({
  type: ['string', 'array'],
  minLength: 1,
  maxLength: LIMITS.audience,
  items: Audience,
  minItems: 1,
  maxItems: LIMITS.audiences,
  uniqueItems: true,
});
const ClaimName = Type.Optional(Type.String({ minLength: 1, maxLength: LIMITS.claim }));
const ClaimsBody = Body({ subject: ClaimName, name: ClaimName, email: ClaimName });
describe(ClaimsBody, CLAIM_TEXTS);

const Url = Type.String({ minLength: 1, maxLength: 2_000 });
const Secret = Type.String({ minLength: 32, maxLength: LIMITS.secret });
const Algorithms = Type.Array(OneOf(IDENTITY_ALGORITHMS), {
  minItems: 1,
  maxItems: IDENTITY_ALGORITHMS.length,
  uniqueItems: true,
});

const KEY_TEXTS = {
  jwks_url:
    'Where the public keys are read: an https URL that redirects nowhere. http is accepted for hosts that the operator allows. Exactly one of `jwks_url`, `jwks` and `secret` is needed.',
  jwks: 'The public keys themselves. Private and symmetric keys are refused.',
  secret:
    'The shared secret of `HS256`, `HS384` or `HS512`, of 32 to 1,024 characters, used as UTF-8. It is never shown.',
};
const ROLE_TEXT =
  'The role of users that a token makes: required for the `team` with `first_use`. It must grant no more than the caller has; only an admin user, not a key, may give one of the type `admin`.';

const ClientId = Type.String({ minLength: 1, maxLength: LIMITS.client });
const ClientSecret = Type.String({ minLength: 1, maxLength: LIMITS.secret });
const CLIENT_TEXTS = {
  client_id:
    'The id of a client at the provider, by which people of the `team` sign in on pages of this server. Its redirect address is `/v1/auth/sign-in/callback/{id}`, with the id of the identity provider; the address for back-channel logout is `/v1/auth/backchannel-logout`.',
  client_secret: 'The secret of that client. It is never shown. Without it the client is a public one.',
};

export const CreateIdentityProviderBody = Body(
  {
    name: Name,
    issuer: Type.String({ minLength: 1, maxLength: LIMITS.issuer }),
    audience: AudienceOrList,
    jwks_url: Type.Optional(Url),
    jwks: Type.Optional(KeySet),
    secret: Type.Optional(Secret),
    algorithms: Type.Optional(Algorithms),
    claims: Type.Optional(ClaimsBody),
    subject: Type.Optional(OneOf(SUBJECT_MEANINGS)),
    person: Type.Optional(OneOf(PROVIDED_PERSONS)),
    provision: Type.Optional(OneOf(PROVISIONS)),
    role_id: Type.Optional(Id),
    client_id: Type.Optional(ClientId),
    client_secret: Type.Optional(ClientSecret),
  },
  {
    examples: [
      {
        name: 'Our application',
        issuer: 'https://login.example.com/',
        audience: 'https://api.example.com',
        jwks_url: 'https://login.example.com/.well-known/jwks.json',
      },
    ],
  },
);
export type CreateIdentityProviderBody = Static<typeof CreateIdentityProviderBody>;
describe(CreateIdentityProviderBody, {
  name: 'Name of the provider, for people.',
  issuer: `${ISSUER_TEXT} An https URL; http is accepted for the loopback interface and for hosts that the operator allows. An account has one provider for an issuer.`,
  audience: AUDIENCE_TEXT,
  ...KEY_TEXTS,
  algorithms: ALGORITHMS_TEXT,
  claims: 'Which claims of a token are read.',
  subject: `${SUBJECT_TEXT} Default: \`own\`.`,
  person: `${PERSON_TEXT} Default: \`team\`.`,
  provision: `${PROVISION_TEXT} Default: \`off\`.`,
  role_id: ROLE_TEXT,
  ...CLIENT_TEXTS,
});

export const UpdateIdentityProviderBody = Body(
  {
    name: Type.Optional(Name),
    audience: Type.Optional(AudienceOrList),
    jwks_url: Type.Optional(Url),
    jwks: Type.Optional(KeySet),
    secret: Type.Optional(Secret),
    algorithms: Type.Optional(Algorithms),
    claims: Type.Optional(ClaimsBody),
    provision: Type.Optional(OneOf(PROVISIONS)),
    role_id: Type.Optional(Nullable(Id)),
    client_id: Type.Optional(Nullable(ClientId)),
    client_secret: Type.Optional(Nullable(ClientSecret)),
  },
  { minProperties: 1, examples: [{ provision: 'first_use' }] },
);
export type UpdateIdentityProviderBody = Static<typeof UpdateIdentityProviderBody>;
describe(UpdateIdentityProviderBody, {
  name: 'Name of the provider, for people.',
  audience: AUDIENCE_TEXT,
  jwks_url: `${KEY_TEXTS.jwks_url} It takes the place of what verified before.`,
  jwks: `${KEY_TEXTS.jwks} They take the place of what verified before.`,
  secret: `${KEY_TEXTS.secret} It takes the place of what verified before.`,
  algorithms: ALGORITHMS_TEXT,
  claims: 'Which claims of a token are read. Those that are absent stay.',
  provision: PROVISION_TEXT,
  role_id: `${ROLE_TEXT} Null clears it.`,
  client_id: `${CLIENT_TEXTS.client_id} Null clears it, with the secret.`,
  client_secret: `${CLIENT_TEXTS.client_secret} Null clears it.`,
});
