import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Checks } from './checks.tsx';
import { Nodes } from './nodes.tsx';
import { Plots } from './plots.tsx';
import { useInstallation } from './use-installation.ts';

/** The view of the installation for operators. Other people see nothing. */
export function Installation() {
  const { me } = useSignedIn();
  return me.operator ? <OfOperator /> : <Nothing />;
}

function Nothing() {
  return (
    <section class="installation-nothing">
      <h1>{texts.installation.nothingHere}</h1>
      <p>
        {texts.installation.mistyped} <Link to={{ main: { at: 'home' } }}>{texts.installation.toInbox}</Link>
      </p>
    </section>
  );
}

function OfOperator() {
  const { client, reload } = useSignedIn();
  const { value, problem } = useInstallation(client, () => void reload());
  if (value === null && problem === '') return <p class="shell-empty">{texts.installation.loading}</p>;
  const { nodes = [], checks = [] } = value ?? {};
  return (
    <div class="installation">
      <h1>{texts.installation.title}</h1>
      {problem !== '' && (
        <p class="installation-problem" role="alert">
          {texts.installation.outdated} {problem}
        </p>
      )}
      <Checks checks={checks} />
      <Nodes nodes={nodes} />
      <Plots nodes={nodes} />
    </div>
  );
}
