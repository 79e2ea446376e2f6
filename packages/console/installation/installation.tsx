import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
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
      <h1>Nothing is here</h1>
      <p>
        The address may be mistyped. <Link to={{ main: { at: 'home' } }}>Go to the inbox</Link>
      </p>
    </section>
  );
}

function OfOperator() {
  const { client, reload } = useSignedIn();
  const { value, problem } = useInstallation(client, () => void reload());
  if (value === null && problem === '') return <p class="shell-empty">Loading…</p>;
  const { nodes = [], checks = [] } = value ?? {};
  return (
    <div class="installation">
      <h1>Installation</h1>
      {problem !== '' && (
        <p class="installation-problem" role="alert">
          What is shown is not up to date. {problem}
        </p>
      )}
      <Checks checks={checks} />
      <Nodes nodes={nodes} />
      <Plots nodes={nodes} />
    </div>
  );
}
