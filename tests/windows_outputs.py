"""What a Windows host prints, written by hand after the references of Get-NetTCPSetting, Export-Clixml and netsh.
Labels in other languages than English are translations that need not be those of Windows: readers do not use them.
"""

from __future__ import annotations

import json
from typing import Any

GLOBAL_ENGLISH = """\
Querying active state...

TCP Global Parameters
----------------------------------------------
Receive-Side Scaling State          : enabled
Receive Window Auto-Tuning Level    : normal
Add-On Congestion Control Provider  : default
ECN Capability                      : disabled
RFC 1323 Timestamps                 : allowed
Initial RTO                         : 1000
Receive Segment Coalescing State    : enabled
Non Sack Rtt Resiliency             : disabled
Max SYN Retransmissions             : 4
Fast Open                           : enabled
Fast Open Fallback                  : enabled
HyStart                             : enabled
Proportional Rate Reduction         : enabled
Pacing Profile                      : off

"""
# An older version, with lines above those that are read.
GLOBAL_GERMAN = """\
Der aktive Status wird abgefragt...

Globale TCP-Parameter
----------------------------------------------
Zustand der empfangsseitigen Skalierung         : enabled
Zustand der Chimney-Abladung                    : disabled
Autom. Abstimmungsgrad Empfangsfenster          : highlyrestricted
Add-On-Überlastungssteuerungsanbieter           : ctcp
ECN-Funktion                                    : enabled
RFC 1323-Zeitstempel                            : disabled
Anfängliches RTO                                : 3000
Zustand der Empfangssegmentzusammenfügung       : enabled
Max. SYN-Neuübertragungen                       : 2
"""
SUPPLEMENTAL_ENGLISH = """\
The TCP global default template is internet

TCP Supplemental Parameters
----------------------------------------------
Minimum RTO (msec)                  : 300
Initial Congestion Window (MSS)     : 10
Congestion Control Provider         : cubic
Enable Congestion Window Restart    : disabled
Delayed ACK timeout (msec)          : 40
Delayed ACK frequency               : 2
Enable RACK                         : enabled
Enable Tail Loss Probe              : enabled
Please use the "netsh int tcp show supplementalports" and
"netsh int tcp show supplementalsubnets" commands to view active filters.
"""
SUPPLEMENTAL_FRENCH = """\
Le modèle TCP global par défaut est internetcustom

Paramètres supplémentaires TCP
----------------------------------------------
RTO minimal (ms)\u00a0: 20
Fenêtre de congestion initiale (MSS)\u00a0: 10
Fournisseur de contrôle de congestion\u00a0: bbr2
Activer le redémarrage de la fenêtre\u00a0: enabled
Délai d\u2019ACK différé (ms)\u00a0: 10
Fréquence d\u2019ACK différé\u00a0: 2
"""
SUPPLEMENTAL_JAPANESE = """\
TCP グローバルの既定のテンプレートはdatacenterです

TCP 補足パラメーター
----------------------------------------------
最小 RTO (ミリ秒)\uff1a 20
初期輻輳ウィンドウ (MSS)\uff1a 4
輻輳制御プロバイダー\uff1a dctcp
輻輳ウィンドウの再起動\uff1a disabled
遅延 ACK タイムアウト\uff1a 10
遅延 ACK の頻度\uff1a 2
"""
TABLE = """\

SettingName      CongestionProvider AutoTuningLevelLocal MinRto(ms) EcnCapability
-----------      ------------------ -------------------- ---------- -------------
Automatic
InternetCustom   BBR2               Normal                      300 Disabled
DatacenterCustom CUBIC              HighlyRestricted             20 Enabled
Compat           NewReno            Normal                      300

"""
CLIXML = """\
<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04">
  <Obj RefId="0">
    <TN RefId="0"><T>Microsoft.Management.Infrastructure.CimInstance#root/standardcimv2/MSFT_NetTCPSetting</T></TN>
    <ToString>MSFT_NetTCPSetting (InstanceID = "Internet")</ToString>
    <Props>
      <S N="SettingName">Internet</S>
      <Obj N="CongestionProvider" RefId="1">
        <TN RefId="1"><T>System.Enum</T></TN><ToString>CUBIC</ToString><Byte>5</Byte>
      </Obj>
      <U32 N="MinRto">300</U32>
      <U32 N="InitialCongestionWindow">10</U32>
      <Nil N="Timestamps" />
    </Props>
    <MS><S N="CwndRestart">False</S></MS>
  </Obj>
  <Obj RefId="2"><Props><S N="SettingName">Internet</S><S N="DestinationPrefix">*</S></Props></Obj>
</Objs>
"""
JSON = json.dumps(
    [
        {"SettingName": "Internet", "CongestionProvider": 5, "MinRtoMs": 300, "AutoTuningLevelLocal": "Normal"},
        {
            "value": [
                {"SettingName": "Datacenter", "CongestionProvider": "DCTCP", "MinRtoMs": 20, "EcnCapability": None}
            ]
        },
    ]
)
#: Goodput in Mbit/s by round: of 10 MB.
RATES = {"cubic": (40.0, 50.0, 40.0, 50.0), "newreno": (32.0, 40.0, 25.0, 40.0)}


def results(**changes: Any) -> str:
    """A results file of the script: four rounds of two providers."""
    plan = {
        "kind": "plan",
        "schema_version": 1,
        "version": "windows-11",
        "build": 22631,
        "template": "InternetCustom",
        "direction": "upload",
        "url": "https://host.example/put",
        "size_bytes": 10_000_000,
        "ecn": "",
        "seed": 1,
        "rounds": 4,
        "treatments": ["cubic", "newreno"],
    }
    rows: list[dict[str, Any]] = [plan | changes]
    for at in range(4):
        for position, (name, rates) in enumerate(RATES.items(), 1):
            row = {"kind": "transfer", "round": at + 1, "position": position, "treatment": name, "provider": name}
            row |= {"autotuning": "", "applied_setting": "InternetCustom", "at": f"2026-03-02T10:{at}0:0{position}.5Z"}
            rows.append(row | {"ended": "complete", "bytes": 10_000_000, "seconds": 80 / rates[at], "why": ""})
    return "".join(json.dumps(row) + "\n" for row in rows)
