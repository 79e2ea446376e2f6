import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { acceptInvitation } from './invitation.ts';
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
  return (
    <main class="sign-in">
      <h1>You are invited to Parley</h1>
      {problem === '' ? (
        <p>Your invitation signs you in in this browser. It works once.</p>
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
