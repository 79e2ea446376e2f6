import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { acceptInvitation, readInvitation } from './invitation.ts';
import type { Session } from './session.ts';

export interface InvitedProps {
  readonly secret: string;
  readonly onSession: (session: Session) => void;
  /** Called when the person signs in by another way. */
  readonly onOther: () => void;
}

/**
 * Asks before an invitation is used: it works once, and a program that opens links must not use it,
 * nor a page of another site sign a visitor in.
 */
export function Invited({ secret, onSession, onOther }: InvitedProps) {
  const { isBusy, problem, run } = useAction();
  const { value: facts } = useResource(secret, () => readInvitation(secret));
  return (
    <main class="sign-in">
      <h1>{facts === null ? 'You are invited to Parley' : `You are invited to ${facts.account_name}`}</h1>
      {problem === '' ? (
        <>
          {facts !== null && (
            <p>
              {facts.invited_by !== null && `By ${facts.invited_by}, as `}
              {facts.name} ({facts.email}).
            </p>
          )}
          <p>Your invitation signs this browser in. It works once.</p>
        </>
      ) : (
        <Problem text={problem} />
      )}
      <div class="sign-in-choices">
        {problem === '' && (
          <Button
            look="primary"
            disabled={isBusy}
            autoFocus
            onClick={() => run(async () => onSession(await acceptInvitation(secret)))}
          >
            Accept the invitation
          </Button>
        )}
        <Button disabled={isBusy} onClick={onOther}>
          {problem === '' ? 'Sign in another way' : 'Continue'}
        </Button>
      </div>
    </main>
  );
}
