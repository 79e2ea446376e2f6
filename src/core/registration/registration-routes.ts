import { RegisterBody, Registration } from '@parley/protocol/resources/api-key.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { type RegistrationPolicy, register, requireRegistration } from './register.ts';

/** Returns the route of public registration (docs/contract.md#registration). */
export function registrationRoutes(policy: RegistrationPolicy): Route[] {
  return [
    defineRoute({
      name: 'register',
      method: 'POST',
      path: '/v1/registrations',
      summary: 'Create an account with its first admin and an API key, where the deployment allows it',
      since: '1.2.harbor',
      permission: null,
      open: true,
      scarce: 'registrations',
      agents: false,
      secret: true,
      once: true,
      refuses: ['registration_closed'],
      body: RegisterBody,
      status: 201,
      response: Registration,
      prepare: () => requireRegistration(policy),
      change: (tx, { body }) => register(tx, policy, body),
    }),
  ];
}
