// The frame of all pages: the signed-in user, the current page, light or dark.

import { type ComponentChild, render } from "preact";
import { useEffect, useState } from "preact/hooks";

import "./app.css";
import { type Access, Refused, json, token } from "./api";
import { Audit } from "./audit";
import { Configuration } from "./configuration";
import { Decisions } from "./decisions";
import { Keys } from "./keys";
import { Models } from "./models";
import { Overview } from "./overview";
import { type May, Notice } from "./parts";
import { Servers } from "./servers";
import { Shadows } from "./shadows";
import { Try } from "./try";

const kPages: { path: string; title: string; needs: string; show: (props: { may: May }) => ComponentChild }[] = [
  { path: "overview", title: "Overview", needs: "metrics.read", show: Overview },
  { path: "servers", title: "Servers", needs: "metrics.read", show: Servers },
  { path: "decisions", title: "Decisions", needs: "replay.read", show: Decisions },
  { path: "shadows", title: "Shadows", needs: "metrics.read", show: Shadows },
  { path: "keys", title: "Keys and budgets", needs: "metrics.read", show: Keys },
  { path: "try", title: "Try a prompt", needs: "classify.invoke", show: Try },
  { path: "configuration", title: "Configuration", needs: "config.read", show: Configuration },
  { path: "models", title: "Models", needs: "config.read", show: Models },
  { path: "audit", title: "Audit log", needs: "audit.read", show: Audit },
];

type Theme = "auto" | "light" | "dark";
const kThemeKey = "signalbox.theme";

function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>((localStorage.getItem(kThemeKey) as Theme) ?? "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem(kThemeKey, theme);
    dispatchEvent(new Event("themechange"));
  }, [theme]);
  const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  return [theme, () => setTheme(next[theme])];
}

const pageOf = () => location.hash.replace(/^#\/?/, "").split("?")[0];

function SignIn({ why, done, leave }: { why: ComponentChild; done: () => Promise<void>; leave?: () => void }) {
  const [failed, setFailed] = useState(false);
  return (
    <main class="page narrow">
      <h1>Sign in</h1>
      <p class="muted">{why} The token stays in this browser tab and is sent only to this address.</p>
      <form
        class="card stack"
        onSubmit={(event) => {
          event.preventDefault();
          token.set(new FormData(event.currentTarget).get("token") as string);
          setFailed(false);
          void done().then(() => setFailed(true));
        }}
      >
        <label class="stack tight">
          Token
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        {failed && <Notice kind="bad">That token is not known here.</Notice>}
        <div class="row">
          <button class="primary">Sign in</button>
          {leave && (
            <button type="button" onClick={leave}>
              Back
            </button>
          )}
        </div>
      </form>
    </main>
  );
}

function App() {
  const [access, setAccess] = useState<Access | "refused" | "starting" | null>(null);
  const [unlocking, setUnlocking] = useState(false);
  const [page, setPage] = useState(pageOf());
  const [theme, nextTheme] = useTheme();

  const ask = async () => {
    try {
      const answer = await json<Access>("/api/v1/access");
      if (answer.changes_need_token && !answer.permissions.includes("config.write")) token.set("");
      else setUnlocking(false);
      setAccess(answer);
    } catch (error) {
      if ((error as Refused).status === 401) {
        token.set("");
        return setAccess("refused");
      }
      setAccess("starting");
      setTimeout(ask, 1000);
    }
  };
  useEffect(() => {
    token.takeFromAddress();
    void ask();
    const moved = () => {
      if (location.hash.startsWith("#token=")) {
        token.takeFromAddress();
        void ask();
      }
      setUnlocking(false);
      setPage(pageOf());
      document.querySelector("main")?.focus();
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);

  const known = access !== null && typeof access === "object" ? access : null;
  const may = (permission: string) => known?.permissions.includes(permission) ?? false;
  const current = kPages.find((each) => each.path === page) ?? kPages.find((each) => may(each.needs)) ?? kPages[0]!;
  const Page = current.show;
  useEffect(() => {
    document.title = `${current.title} · Signalbox`;
    document.querySelector("nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [current, known !== null]);

  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector("main")?.focus())}>
        Skip to the page
      </a>
      <header class="bar">
        <span class="brand">
          <img src="/icon.svg" alt="" width="22" height="22" />
          Signalbox
        </span>
        {known && (
          <nav aria-label="Pages">
            {kPages
              .filter((each) => may(each.needs))
              .map((each) => (
                <a href={`#/${each.path}`} aria-current={each === current ? "page" : undefined}>
                  {each.title}
                </a>
              ))}
          </nav>
        )}
        <span class="grow" />
        <button class="quiet" onClick={nextTheme} aria-label={`Colours: ${theme}`} title="Colours: as the system, light, dark">
          <span aria-hidden="true">{theme === "auto" ? "◐ Auto" : theme === "light" ? "○ Light" : "● Dark"}</span>
        </button>
        {known?.changes_need_token && !known.no_token && !may("config.write") && !unlocking && (
          <button class="quiet" onClick={() => setUnlocking(true)}>
            Sign in to make changes
          </button>
        )}
        {(known?.asks_for_token || (known?.changes_need_token && may("config.write"))) && (
          <button
            class="quiet"
            onClick={() => {
              token.set("");
              if (known.asks_for_token) setAccess("refused");
              else void ask();
            }}
          >
            Sign out
          </button>
        )}
      </header>
      {access === null && <main class="page" aria-busy="true" />}
      {access === "starting" && (
        <main class="page">
          <Notice>The router is starting, or does not answer. Trying again every second.</Notice>
        </main>
      )}
      {access === "refused" && <SignIn why="This router requires a token." done={ask} />}
      {known && unlocking && (
        <SignIn
          why={
            <>
              Changes of the configuration and of keys need the token that the router keeps in the file <code>{known.token_file}</code>.
            </>
          }
          done={ask}
          leave={() => setUnlocking(false)}
        />
      )}
      {known && !unlocking && (
        <main class="page" id="main" tabindex={-1} data-page={current.path}>
          {known.no_token && (
            <Notice kind="warn">The configuration and the keys cannot be changed here, because there is no local token: {known.no_token}</Notice>
          )}
          {may(current.needs) ? (
            <Page key={current.path} may={may} />
          ) : (
            <>
              <h1>{current.title}</h1>
              <Notice>
                Your role does not have the permission <code>{current.needs}</code>, which this page needs.
              </Notice>
            </>
          )}
        </main>
      )}
      {known && <footer class="foot muted">
          Signalbox {known.version} · <a href="/licenses.txt">third-party licences</a>
        </footer>}
    </>
  );
}

const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
